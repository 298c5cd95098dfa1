"""``longhaul destroy``: takes a whole environment down."""
