"""Addresses, links between sites, and who may talk to whom."""
