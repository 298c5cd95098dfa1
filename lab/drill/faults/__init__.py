"""Faults: how each is injected into an environment of the lab, and repaired."""
