"""The clouds' price interfaces on loopback: they serve the samples beside this file, for real requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.loopback import Answering, Asked, Response

SAMPLES = Path(__file__).parent / "samples"
FILES = {
    "/offers/v1.0/aws/AmazonEC2/current/region_index.json": "region-index-AmazonEC2.json",
    "/offers/v1.0/aws/AmazonVPC/current/region_index.json": "region-index-AmazonVPC.json",
    "/offers/v1.0/aws/AmazonEC2/20260115000000/us-east-1/index.csv": "ec2-us-east-1.csv",
    "/offers/v1.0/aws/AmazonVPC/20260115000000/us-east-1/index.csv": "vpc-us-east-1.csv",
}
RETAIL = "/api/retail/prices"
CONDITION = re.compile(r"(\w+) eq '((?:[^']|'')*)'")


@dataclass(kw_only=True)
class PriceServer:
    """Behaviour of the interfaces, and the requests that they got."""

    address: str = ""
    page: int = 2
    """Number of items on one page of Azure's."""
    busy: list[int] = field(default_factory=list)
    """Statuses that answer the next requests."""
    broken_off: int = 0
    """Number of the next large files that break off in the middle."""
    refused: set[str] = field(default_factory=set)
    """Words in requests that are answered with 404."""
    replaced: dict[str, bytes] = field(default_factory=dict)
    """Bodies by path, in place of the samples."""
    next_page: str = ""
    """Address of Azure's next page, if not this server's."""
    asked: list[str] = field(default_factory=list)

    @property
    def azure_url(self) -> str:
        return f"{self.address}{RETAIL}"

    def answer(self, asked: Asked) -> Response:
        """Return status and body, which may break off."""
        status, body = self._whole(asked.target)
        if status == 200 and self.broken_off and asked.path.endswith(".csv"):
            self.broken_off -= 1
            return status, body[: len(body) // 2], {"Content-Length": str(len(body))}
        return status, body

    def _whole(self, target: str) -> tuple[int, bytes]:
        self.asked.append(unquote(target))
        if self.busy:
            return self.busy.pop(0), b"try later"
        path = urlsplit(target).path
        if any(word in unquote(target) for word in self.refused):
            return 404, b"no"
        if path in self.replaced:
            return 200, self.replaced[path]
        if path == RETAIL:
            return 200, json.dumps(self._retail(urlsplit(target).query)).encode()
        return (200, (SAMPLES / FILES[path]).read_bytes()) if path in FILES else (404, b"no such file")

    def _retail(self, query: str) -> dict[str, Any]:
        words = parse_qs(query)
        question, skip = words["$filter"][0], int(words.get("$skip", ["0"])[0])
        currency = words.get("currencyCode", ["'USD'"])[0].strip("'")
        items = [item for item in sample_items() if item["currencyCode"] == currency and _matches(question, item)]
        more = skip + self.page < len(items)
        asked = next(word for word in query.split("&") if word.startswith("$filter="))
        return {
            "BillingCurrency": "USD",
            "CustomerEntityId": "Default",
            "CustomerEntityType": "Retail",
            "Items": items[skip : skip + self.page],
            "NextPageLink": f"{self.next_page or self.azure_url}?{asked}&$skip={skip + self.page}" if more else None,
            "Count": len(items[skip : skip + self.page]),
        }


def sample_items() -> list[dict[str, Any]]:
    """Return Azure's items."""
    items: list[dict[str, Any]] = json.loads((SAMPLES / "azure-retail-prices.json").read_text(encoding="utf-8"))
    return items


def _matches(question: str, item: dict[str, Any]) -> bool:
    """Return whether an item meets conditions joined by ``and``, those in parentheses by ``or``. Values are
    case-sensitive, as in the real interface."""
    either = re.search(r"\(([^()]*)\)", question)
    if either is not None and not any(_holds(pair, item) for pair in CONDITION.findall(either[1])):
        return False
    rest = question.replace(either[0], "") if either is not None else question
    return all(_holds(pair, item) for pair in CONDITION.findall(rest))


def _holds(pair: tuple[str, str], item: dict[str, Any]) -> bool:
    name = {"priceType": "type"}.get(pair[0], pair[0])
    return bool(item[name] == pair[1].replace("''", "'"))


@contextmanager
def serving() -> Iterator[PriceServer]:
    """Serve the interfaces until the block ends."""
    state = PriceServer()
    with Answering(state.answer) as server:
        state.address = server.url
        yield state
