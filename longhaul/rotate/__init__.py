"""``longhaul rotate``: replaces keys while the cluster keeps running (docs/rotation.md)."""
