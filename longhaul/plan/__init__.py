"""``longhaul plan``: shows what ``up`` would do, in each form (docs/plan.md)."""
