"""``longhaul machine``: what is done about one machine."""
