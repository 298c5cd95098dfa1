"""The price book: a file of the user with prices by key, checked as strictly as an environment file."""
