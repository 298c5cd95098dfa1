"""Finds and runs the real engine, the ``pulumi`` command line, and repairs its leftovers."""
