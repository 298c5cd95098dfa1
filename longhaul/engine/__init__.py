"""Runs the real engine, the ``pulumi`` command line: its location, its options, and the repair of what it left
behind."""
