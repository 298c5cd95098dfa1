"""Cost of an environment: the user's price book, and sums from it."""
