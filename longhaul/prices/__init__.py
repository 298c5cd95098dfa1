"""Computes the cost of an environment: the user's price book, the clouds' published prices that fill it, and the
sums."""

OLD_DAYS = 90
"""Age in days beyond which a price counts as old. This is a choice: EC2 keeps spot prices for as many days
(docs.aws.amazon.com, DescribeSpotPriceHistory, ``StartTime``), and list prices change less often than those."""
