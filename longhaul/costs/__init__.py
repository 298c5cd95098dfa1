"""Cost of an environment: the user's price book, and sums of it."""

PRICE_FILE = "prices.yaml"
"""Default price file in ``stacks/``, shared by all environments there."""
