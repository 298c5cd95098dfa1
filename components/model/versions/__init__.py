"""Versions of the software on machines: section ``versions``."""
