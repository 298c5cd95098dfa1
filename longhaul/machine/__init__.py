"""``longhaul machine``: operations on one machine."""
