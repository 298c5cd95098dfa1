"""``longhaul capacity``: shows teams' shares and pools, by an operator's identity."""
