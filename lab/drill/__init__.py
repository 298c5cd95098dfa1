"""Drills: a fault is injected into a running environment of the lab while a verifier outside it writes, reads and
watches. The verifier judges the outcome."""
