"""``longhaul prices``: fills a price book from the prices that clouds publish, and checks one."""

OLD_DAYS = 90
"""Age in days beyond which a price counts as old. This is a choice: EC2 keeps spot prices for as many days
(docs.aws.amazon.com, DescribeSpotPriceHistory, ``StartTime``), and list prices change less often than those."""
