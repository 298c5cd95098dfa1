"""Names of NVIDIA's devices on machines."""

from __future__ import annotations

PCI_VENDOR = "10de"
"""Vendor id on the PCI bus, four hexadecimal digits (pci-ids.ucw.cz)."""
