"""``longhaul shell``: opens a shell on one of an environment's machines."""
