"""``longhaul capacity``: shows teams' shares and pools, with an operator's identity."""
