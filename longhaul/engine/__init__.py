"""Runs the real engine, the ``pulumi`` command line: where it is, its options, and the repair of its leftovers."""
