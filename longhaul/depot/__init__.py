"""``longhaul depot``: fills, checks and serves a depot."""
