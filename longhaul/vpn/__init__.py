"""``longhaul vpn``: reaches private addresses from this machine."""
