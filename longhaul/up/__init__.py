"""``longhaul up``: makes an environment as its file declares it, phase by phase."""
