"""Rolls of pools: machines are replaced by new ones from the pool's group, without ending running work."""
