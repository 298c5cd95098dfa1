"""The price book: a file of the user's with prices by key, checked as strictly as an environment file."""
