"""What an environment costs: the user's price book, what the clouds publish to fill it with, and the sums."""

OLD_DAYS = 90
"""Age in days beyond which a price is old. A choice: EC2 keeps as many days of spot prices (docs.aws.amazon.com,
DescribeSpotPriceHistory, ``StartTime``), and list prices change less often than those."""
