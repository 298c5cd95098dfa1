"""Backups of an environment: what there is, and making one at once."""
