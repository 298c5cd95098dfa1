"""``longhaul ansible``: runs a playbook with an environment's inventory."""
