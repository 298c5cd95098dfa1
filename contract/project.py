"""The product's name, and the names of a project's files and stacks."""

from __future__ import annotations

PROJECT = "longhaul"
"""Name in the product's users, objects and labels."""
PROJECT_FILE = "Pulumi.yaml"
STACKS = "stacks"
"""Folder of the environments' files and of the program."""
OBJECTS = "-objects"
"""Suffix of the name of an environment's second stack."""
OBJECTS_OF = "longhaul:objects-of"
"""Configuration key of the second stack, with the environment's name."""
PRICE_FILE = "prices.yaml"
"""Default price file in :data:`STACKS`, shared by all environments of the project."""
PLUGIN_CHECKSUMS = "plugins.sha256"
"""File in :data:`STACKS` with the checksums of the engine's provider plugins, shared by all environments."""
