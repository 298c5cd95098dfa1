"""Replaces keys while the cluster goes on (docs/rotation.md)."""
