"""Rolls of pools: machines are replaced by new machines from the pool's group, without ending running work."""
