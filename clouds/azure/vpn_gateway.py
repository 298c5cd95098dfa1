"""Size of the VPN gateway that Longhaul makes in Azure (learn.microsoft.com/azure/vpn-gateway/about-gateway-skus)."""

from __future__ import annotations

SKU, GENERATION = "VpnGw2AZ", "Generation2"

CONNECTIONS, THROUGHPUT = 30, "1 Gbit/s"
"""Largest number of the gateway's connections, and its total throughput in Azure's benchmark."""
