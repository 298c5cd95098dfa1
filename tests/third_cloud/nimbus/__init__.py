"""Nimbus: a cloud that nobody has, known to the program by its package alone."""
