"""``longhaul plan``: shows what ``up`` would do, in several formats (docs/plan.md)."""
