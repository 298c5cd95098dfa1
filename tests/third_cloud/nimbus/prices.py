"""Nimbus's prices, which are on one page."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from clouds.base.prices import Answer, Asking, Batch, Key, MachineKey, PartKey, Say, joined, only
from nimbus.site import NimbusSite

URL = "https://prices.nimbus.invalid"

MACHINES = {"lift-8": Decimal("0.5"), "storm-96": Decimal(40)}
PARTS = {"vpn-gateway": Decimal("0.1"), "public-address": Decimal("0.01")}
"""US dollars for an hour, the same everywhere; spare machines cost half."""


def published(source: str, url: str, /) -> bool:
    """Return whether a price is from that page or from its mirror."""
    return source in (URL, url)


def batches(keys: tuple[Key, ...], asking: Asking[NimbusSite], /) -> list[Batch]:
    """Return one batch with all keys."""
    own = tuple(key for key in keys if isinstance(key, MachineKey | PartKey) and key.cloud == "nimbus")
    source, today = asking.url or URL, asking.today

    def read(say: Say) -> Answer:
        say(f"Nimbus: {len(own)} prices")
        return joined([_price(key, source, today) for key in own])

    return [Batch(name="Nimbus", keys=own, read=read)] if own else []


def _price(key: MachineKey | PartKey, source: str, today: date) -> Answer:
    if isinstance(key, PartKey):
        amounts = {PARTS[key.part]} if key.part in PARTS else set()
    else:
        whole = MACHINES.get(key.machine_type)
        amounts = set() if whole is None else {whole / 2 if key.spot else whole}
    return only(key, amounts, source=source, today=today)
