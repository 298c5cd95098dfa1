"""Node pools: section ``pools`` (its keys: clouds/base/pool_section.py), machine types, kinds of capacity."""
