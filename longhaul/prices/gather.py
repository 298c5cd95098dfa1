"""Reads the wanted prices from the clouds' publications into a file that is valid after every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from clouds.base.price_requests import Web, WebError
from clouds.base.prices import Key, Price, PriceBatch, PriceRequest, Say
from clouds.registry import clouds
from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.costs.priced_needs import price_keys
from longhaul.prices.write import save


@dataclass(frozen=True, kw_only=True)
class PriceSources:
    """Sources of prices, and how to read them."""

    now: datetime
    """Present time in UTC."""
    urls: Mapping[str, str] = field(default_factory=dict)
    """Addresses of mirrors of the clouds' price lists, by cloud."""
    web: Web = field(default_factory=Web)

    def is_ours(self, price: Price) -> bool:
        """Return whether a price was read from one of these sources, and so may be read again. Any other price is the
        user's."""
        return any(cloud.prices.published(price.source, self.urls.get(kind, "")) for kind, cloud in clouds().items())


@dataclass(kw_only=True)
class Gathered:
    """Outcome for all wanted prices."""

    book: PriceBook
    read: list[Key] = field(default_factory=list)
    kept: list[Key] = field(default_factory=list)
    """Prices that were not asked for: the user's own prices, and prices that were read today."""
    missing: dict[Key, str] = field(default_factory=dict)
    """Prices that no source has, each with the reason."""
    failed: dict[str, str] = field(default_factory=dict)
    """Names of batches that could not be read, each with the reason."""


def gather(environment: Environment, *, to: Path, sources: PriceSources, again: bool, say: Say) -> Gathered:
    """Read the prices of everything in ``environment`` into the file ``to``, which may exist already. The user's
    entries are kept. Entries that were read today are kept, too, unless ``again``. Raise ``BookError`` when the file is
    invalid."""
    book = PriceBook.load(to) if to.exists() else PriceBook()
    result = Gathered(book=book)
    asked: list[Key] = []
    for key in price_keys(environment):
        (result.kept if _stays(book.find(key), sources, again=again) else asked).append(key)
    batches = list(_batches(tuple(asked), environment, sources))
    for number, batch in enumerate(batches, 1):
        say(f"{number}/{len(batches)} {batch.name}")
        _take(batch, result, to, say)
    answered = {key for batch in batches for key in batch.keys}
    result.missing |= {key: "no public price list has it" for key in asked if key not in answered}
    return result


def _stays(price: Price | None, sources: PriceSources, *, again: bool) -> bool:
    if price is None:
        return False
    return not sources.is_ours(price) or (price.read == sources.now.date() and not again)


def _take(batch: PriceBatch, result: Gathered, to: Path, say: Say) -> None:
    try:
        answer = batch.read(say)
    except WebError as error:
        result.failed[batch.name] = str(error)
        return
    result.missing |= answer.missing
    result.read += answer.prices
    if answer.prices:
        result.book = result.book.updated(answer.prices)
        save(result.book, to)


def _batches(keys: tuple[Key, ...], environment: Environment, sources: PriceSources) -> Iterator[PriceBatch]:
    for kind, cloud in clouds().items():
        sites = tuple(site for site in environment.sites.values() if site.kind == kind)
        url = sources.urls.get(kind, "")
        yield from cloud.prices.batches(keys, PriceRequest(now=sources.now, web=sources.web, url=url, sites=sites))
