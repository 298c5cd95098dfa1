"""Nimbus: an imaginary cloud, which the program knows through its package alone."""
