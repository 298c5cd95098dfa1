"""Bare-metal hosts: the hosts file."""
