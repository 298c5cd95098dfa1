"""An environment, the price interfaces on loopback, and the sources that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from clouds.aws import spot
from clouds.base.price_requests import Web
from clouds.base.prices import Price
from components.model import Environment, load
from longhaul.prices.gather import PriceSources
from tests.longhaul.prices.price_server import PriceServer, serving
from tests.support.project import hybrid

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def hybrid_with_pools() -> dict[str, Any]:
    """Return a control plane on Azure, an ordinary and a spot pool on AWS, a spot pool on Azure, one gateway and one
    host."""
    raw = hybrid("dev", supernet="10.64.0.0/12")
    raw["pools"]["gpu-spot"] = {
        "site": "use1",
        "machine_type": "p5.48xlarge",
        "max": 4,
        "spot": True,
        "fallbacks": ["h100"],
    }
    raw["pools"]["h100"] = {
        "site": "weu",
        "machine_type": "Standard_ND96isr_H100_v5",
        "min": 1,
        "max": 2,
        "spot": True,
    }
    return raw


def write_environment(folder: Path, raw: dict[str, Any]) -> Path:
    """Write a ``stacks`` folder with one environment; return its stack file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"Pulumi.{raw['name']}.yaml"
    path.write_text(yaml.safe_dump({"config": {"longhaul:environment": raw}}), encoding="utf-8")
    hosts = "hosts:\n  - {name: node-0, site: rack}\n  - {name: node-1, site: rack}\n"
    (folder / str(raw["bare_metal"])).write_text(hosts, encoding="utf-8")
    return path


@pytest.fixture(name="load_raw")
def _load_raw(tmp_path: Path) -> Callable[[dict[str, Any]], Environment]:
    return lambda raw: load(write_environment(tmp_path / "stacks", raw))


@pytest.fixture(name="environment")
def _environment(load_raw: Callable[[dict[str, Any]], Environment]) -> Environment:
    return load_raw(hybrid_with_pools())


@pytest.fixture(name="server")
def _server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PriceServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        yield server


@pytest.fixture(name="sources")
def _sources(server: PriceServer, monkeypatch: pytest.MonkeyPatch) -> PriceSources:
    """The interfaces without AWS credentials; a retry does not wait."""
    monkeypatch.setattr(spot, "client", lambda: None)
    urls = {"azure": server.azure_url, "aws": server.address}
    return PriceSources(now=NOW, urls=urls, web=Web(tries=3, pause_s=0))


def price(amount: str, *, currency: str = "USD", unit: str = "hour", read: str = "2026-02-01") -> Price:
    """Return a price of the user's."""
    return Price(
        amount=Decimal(amount),
        currency=currency,
        unit="month" if unit == "month" else "hour",
        source="contract",
        read=datetime.fromisoformat(read).date(),
    )
