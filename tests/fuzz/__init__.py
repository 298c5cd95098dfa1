"""Fuzzing of what reads what others wrote. ``python -m tests.fuzz --help``."""
