"""``longhaul prices``: fills a price book with the clouds' published prices, and checks a price book."""
