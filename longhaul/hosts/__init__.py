"""``longhaul hosts``: sets gateways and bare-metal hosts up, and pins their SSH host keys."""
