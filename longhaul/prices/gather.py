"""Reading what is wanted from where it is published, into a file that is whole after every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from clouds.aws.site import AwsSite
from components.model import Environment
from longhaul.prices import aws, azure, spot
from longhaul.prices.book import Price, PriceBook
from longhaul.prices.keys import Key
from longhaul.prices.needs import wanted
from longhaul.prices.source import Batch, Say
from longhaul.prices.web import Web, WebError
from longhaul.prices.write import save


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where prices are read, and how."""

    now: datetime
    """In UTC."""
    ec2: spot.Client | None
    """For spot prices; None where there are no credentials."""
    azure_url: str = azure.URL
    aws_url: str = aws.URL
    web: Web = field(default_factory=Web)

    def ours(self, price: Price) -> bool:
        """Whether an entry was read from one of these, and so may be read anew; any other is the user's."""
        places = (f"{azure.URL}?", f"{aws.URL}/", f"{self.azure_url}?", f"{self.aws_url}/")
        return price.source == spot.SOURCE or price.source.startswith(places)


@dataclass(kw_only=True)
class Gathered:
    """What became of everything that was wanted."""

    book: PriceBook
    read: list[Key] = field(default_factory=list)
    kept: list[Key] = field(default_factory=list)
    """Not asked for: the user's own, or read today."""
    missing: dict[Key, str] = field(default_factory=dict)
    """Which no source has, and why."""
    failed: dict[str, str] = field(default_factory=dict)
    """By the batch's name, why it could not be read."""


def gather(environment: Environment, *, to: Path, sources: Sources, again: bool, say: Say) -> Gathered:
    """Read the prices of everything in ``environment`` into the file ``to``, which may be there already: entries of the
    user's stay, and those that were read today unless ``again``. ``BookError`` when the file cannot be used."""
    book = PriceBook.load(to) if to.exists() else PriceBook()
    result = Gathered(book=book)
    asked: list[Key] = []
    for key in wanted(environment):
        (result.kept if _stays(book.find(key), sources, again=again) else asked).append(key)
    batches = _batches(tuple(asked), environment, sources)
    for number, batch in enumerate(batches, 1):
        say(f"{number}/{len(batches)} {batch.name}")
        _take(batch, result, to, say)
    answered = {key for batch in batches for key in batch.keys}
    result.missing |= {key: "no public price list has it" for key in asked if key not in answered}
    return result


def _stays(price: Price | None, sources: Sources, *, again: bool) -> bool:
    if price is None:
        return False
    return not sources.ours(price) or (price.read == sources.now.date() and not again)


def _take(batch: Batch, result: Gathered, to: Path, say: Say) -> None:
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


def _batches(keys: tuple[Key, ...], environment: Environment, sources: Sources) -> list[Batch]:
    """Quick questions first, large files last."""
    today = sources.now.date()
    history = spot.Spot(client=sources.ec2, zones=_zones(environment), now=sources.now)
    return [
        *azure.batches(keys, web=sources.web, today=today, url=sources.azure_url),
        *spot.batches(keys, history),
        *aws.batches(keys, web=sources.web, today=today, url=sources.aws_url),
    ]


def _zones(environment: Environment) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for site in environment.sites.values():
        if isinstance(site, AwsSite):
            found.setdefault(site.region, {}).update(dict.fromkeys(f"{site.region}{zone}" for zone in site.zones))
    return {region: tuple(sorted(zones)) for region, zones in found.items()}
