"""``longhaul autoscaler``: sizes pools from the operator's machine, or shows what it would do (services/autoscaler)."""
