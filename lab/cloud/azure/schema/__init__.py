"""Schemas, checks and views of Azure's resource types, one file for each type."""
