"""Document of the autoscaler on an API server's machine, and how the unit follows it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from components.model import Environment, load
from components.model.autoscaler.document import KEY, Given, of_text, to_text
from components.model.autoscaler.section import Autoscaler
from components.model.hosts.section import Host
from components.model.prices.book import PriceBook
from longhaul.cli.examples import example
from services.autoscaler import unit
from tests.support.hosts import STACKS


@pytest.fixture(name="environment")
def _environment() -> Environment:
    found = load(STACKS / "Pulumi.lab.yaml")
    return found.model_copy(update={"autoscaler": Autoscaler(dry_run=True)})


def run(api: Any, work: Any) -> threading.Event:
    stop = threading.Event()
    unit.AutoscalerUnit(api, work, stop=stop, look_s=0.01).run()
    return stop


class Documents:
    """An API that gives one document after the other."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def find(self, _path: str) -> Mapping[str, Any]:
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        return {"data": {KEY: text}}


def test_a_document_of_another_release_is_waited_out(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    good = to_text(Given(environment=environment))
    newer = json.dumps({**json.loads(good), "format": 2})
    unknown = json.loads(good)
    unknown["environment"]["clouds_of_tomorrow"] = 1
    seen: list[Given] = []
    run(Documents(newer, json.dumps(unknown), "", good), lambda given, _prices, _over: seen.append(given))
    assert [one.environment.name for one in seen] == ["lab"]
    said = [record.getMessage() for record in caplog.records]
    assert any("format: is 2" in one and "renew the image" in one for one in said)
    assert any("clouds_of_tomorrow" in one for one in said)


class Held:
    """An API whose document is there or is not."""

    def __init__(self, text: str) -> None:
        self.text: str | None = text

    def find(self, _path: str) -> Mapping[str, Any] | None:
        return None if self.text is None else {"data": {KEY: self.text}}


def test_a_document_that_is_deleted_ends_the_work_until_it_is_back(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    good = to_text(Given(environment=environment))
    api = Held(good)
    worked: list[bool] = []

    def work(_given: Given, _prices: PriceBook, over: threading.Event) -> None:
        api.text = None
        worked.append(over.wait(10))

    run(api, work)
    assert worked == [True], "it is told to end"

    again = threading.Thread(target=run, args=(api, lambda *_: worked.append(True)))
    again.start()  # As systemd does.
    again.join(0.2)
    assert (again.is_alive(), worked) == (True, [True]), "it waits"
    assert "the environment has no `autoscaler`: nothing to do" in [one.getMessage() for one in caplog.records]
    api.text = good
    again.join(10)
    assert (again.is_alive(), worked) == (False, [True, True])


def test_hosts_and_prices_come_along() -> None:
    given = Given(
        environment=example("prod"),
        aws_role="arn:aws:iam::123456789012:role/prod-autoscaler",
        prices={"format": 1, "machines": []},
    )
    read = of_text(to_text(given))
    assert [(one.name, one.site) for one in read.environment.hosts] == [
        (one.name, one.site) for one in given.environment.hosts
    ]
    assert read.environment.model_copy(update={"hosts": given.environment.hosts}) == given.environment
    assert unit.prices(read).prices == {}


def test_as_many_hosts_as_a_site_holds_fit_into_a_configmap(environment: Environment) -> None:
    hosts = tuple(Host(name=f"rack-a-gpu-node-{index:05}", site="rack") for index in range(8192))
    assert len(to_text(Given(environment=environment.model_copy(update={"hosts": hosts})))) < 2**20


def test_no_field_of_the_document_is_a_secret() -> None:
    """An SSH key is a public one; the rest that sounds like a secret would be one."""
    text = to_text(Given(environment=example("prod")))
    keys: list[str] = []
    json.loads(text, object_pairs_hook=lambda pairs: keys.extend(key for key, _ in pairs) or dict(pairs))
    sounding = {key for key in keys if any(word in key for word in ("secret", "password", "token", "private"))}
    assert sounding == set()
    assert "PRIVATE KEY" not in text
