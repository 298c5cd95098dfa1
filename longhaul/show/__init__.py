"""``longhaul show``: an environment at a glance, from its file alone, without engine, account or network."""
