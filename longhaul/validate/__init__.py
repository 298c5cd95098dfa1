"""``longhaul validate``: checks environment files."""
