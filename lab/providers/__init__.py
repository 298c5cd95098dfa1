"""Pulumi provider plugins that stand in for the real ones inside the lab."""
