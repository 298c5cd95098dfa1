"""``longhaul prices``: fills a price book with the clouds' published prices, and checks a price book."""

OLD_DAYS = 90
"""Age in days beyond which a price counts as old. Our own choice: EC2 keeps spot prices for the same time
(docs.aws.amazon.com, DescribeSpotPriceHistory, ``StartTime``), and list prices change less often."""
