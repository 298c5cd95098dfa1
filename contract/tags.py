"""Tags of resources in clouds, by their keys. Machines of pools are found by them, and bills sorted."""

from __future__ import annotations

TAG_PREFIX = "longhaul-"
"""Beginning of the keys of Longhaul's own tags."""
ENVIRONMENT = "longhaul-environment"
SITE = "longhaul-site"
POOL = "longhaul-pool"
MACHINE = "longhaul-role"
"""Key of the tag with the role of a machine of the control plane."""
