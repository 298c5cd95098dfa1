"""Keys of the tags of resources in clouds. Tags identify machines of pools, and costs are grouped by tags."""

from __future__ import annotations

TAG_PREFIX = "longhaul-"
"""Prefix of the keys of Longhaul's own tags."""
ENVIRONMENT = "longhaul-environment"
SITE = "longhaul-site"
POOL = "longhaul-pool"
MACHINE = "longhaul-role"
"""Key of the tag with the role of a machine of the control plane."""
