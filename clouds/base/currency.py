"""Currency of prices that clouds publish."""

from __future__ import annotations

CURRENCY = "USD"
"""Currency in which price lists of clouds are read (ISO 4217). A price book may have other currencies as well."""
