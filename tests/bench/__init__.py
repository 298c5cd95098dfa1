"""Measurements of speed. Nothing here passes or fails by time; ``make bench`` prints the results."""
