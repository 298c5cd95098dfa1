"""Node pools: section ``pools``, machine types, kinds of capacity."""
