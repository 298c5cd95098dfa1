"""Writes the price book to a file: the same book gives the same text, and the file is never half written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from clouds.base.prices import HostKey, Key, MachineKey, PartKey, Price, plain
from components.model.prices.book import PriceBook
from components.model.prices.entries import FORMAT

HEADER = """\
# Prices: those that `longhaul prices` read from the clouds' public price interfaces, and your own. An entry whose
# source is not one of those interfaces is yours and stays. Comments are not kept when this is written; `note` is.
"""


def text(book: PriceBook) -> str:
    """Return the whole file, with entries sorted by key."""
    content: dict[str, Any] = {"format": FORMAT}
    for name, kind in (("machines", MachineKey), ("parts", PartKey), ("hosts", HostKey)):
        entries = [_entry(key, book.prices[key]) for key in sorted(key for key in book.prices if isinstance(key, kind))]
        if entries:
            content[name] = entries
    return HEADER + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)


def save(book: PriceBook, path: Path) -> None:
    """Write the whole file or nothing. A concurrent reader sees the old file or the new one."""
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text(book))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _entry(key: Key, price: Price) -> dict[str, Any]:
    return {
        **_of(key),
        "amount": plain(price.amount),
        "currency": price.currency,
        "unit": price.unit,
        "source": price.source,
        "read": price.read.isoformat(),
        **({"note": price.note} if price.note else {}),
    }


def _of(key: Key) -> dict[str, Any]:
    match key:
        case MachineKey():
            spot = {"spot": True} if key.spot else {}
            return {"cloud": key.cloud, "region": key.region, "machine_type": key.machine_type, **spot}
        case PartKey():
            return {"cloud": key.cloud, "region": key.region, "part": key.part}
        case HostKey():
            return {"site": key.site}
