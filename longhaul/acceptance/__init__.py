"""Acceptance: make a small environment, check it from end to end, take it down, and write a report. Checks that the
lab's tests need too are defined here."""
