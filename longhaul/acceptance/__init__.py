"""Acceptance: make a small environment, check it from end to end, take it down, and write a report. Checks that the
lab's tests need too are defined here."""

MOST_TIME = "3h"
"""Default limit of a whole run: Azure needs half an hour or more to make a VPN gateway (docs/getting-started.md, 7),
and a third of the time is kept for taking down."""
