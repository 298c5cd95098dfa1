"""Rolls of pools: machines are replaced by what the pool's group now makes, without ending running work."""
