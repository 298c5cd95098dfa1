"""``longhaul backups``: list an environment's backups, or make one at once."""
