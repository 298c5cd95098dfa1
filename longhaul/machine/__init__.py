"""Machines that are lost to an attacker: cut off, refused, kept for a look, replaced (docs/quarantine.md)."""
