"""Quarantine of a machine: it is cut off, refused, kept for a look, and replaced (docs/quarantine.md)."""
