"""``longhaul autoscaler``: sizes pools from here, or says what would be done (services/autoscaler)."""
