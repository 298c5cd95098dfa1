"""Machines of the laptops' VPN: who signs in, their certificates, and their sessions."""
