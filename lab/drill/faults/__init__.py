"""Faults: each function injects a fault into an environment of the lab, and repairs it."""
