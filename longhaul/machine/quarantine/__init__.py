"""Quarantine of a machine: it is isolated, refused, kept for an investigation, and replaced (docs/quarantine.md)."""
