"""Addresses, links between sites, and allowed traffic."""
