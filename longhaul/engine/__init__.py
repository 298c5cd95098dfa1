"""Driving the real engine, the ``pulumi`` command line: where it is, what it is told, what it left behind."""
