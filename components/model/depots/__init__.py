"""Depots: section ``depots``."""
