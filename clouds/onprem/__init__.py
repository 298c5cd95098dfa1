"""Bare metal: racks of your own."""
