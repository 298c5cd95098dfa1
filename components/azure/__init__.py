"""Longhaul on Azure."""
