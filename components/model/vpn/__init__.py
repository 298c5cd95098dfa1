"""The laptops' VPN: section ``vpn``."""
