"""The output of ``longhaul up`` with the real engine: what it logs is what is shown and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import UP, Checkout
from tests.longhaul.engine.test_engine import _world  # noqa: F401 - a fixture
from tests.longhaul.up.test_phases import row

pytestmark = pytest.mark.engine

ENGINE_LOGS = ".pulumi/logs/organization+longhaul+dev-*.log"
SECRET = "correct horse battery staple"
PROGRAM = '''
import os

import pulumi
from pulumi.dynamic import CreateResult, Resource, ResourceProvider, UpdateResult


class Provider(ResourceProvider):
    """Makes nothing, and fails where the world wants it."""

    serialize_as_secret_always = False

    def create(self, props):
        if props["name"] == os.environ.get("FAILS"):
            raise Exception(f"the cloud has no {props['name']}\\nand says why")
        return CreateResult(id_=props["name"], outs=props)

    def update(self, id_, olds, news):
        return UpdateResult(outs=news)


class Thing(Resource, module="longhaul", name="Thing"):
    def __init__(self, name, size, opts=None):
        secret = pulumi.Output.secret(os.environ["SECRET"])
        super().__init__(Provider(), name, {"name": name, "size": size, "secret": secret}, opts)


pulumi.log.warn("the program warns")
first = Thing("first", os.environ.get("SIZE", "1"))
for name in os.environ.get("MORE", "second third").split():
    Thing(name, "1", pulumi.ResourceOptions(depends_on=[first]))
'''


@pytest.fixture(name="things")
def _things(checkout: Checkout, world: Path) -> None:
    """A program of three resources that know a secret."""
    (checkout.path / "stacks" / "__main__.py").write_text(PROGRAM)
    checkout.environ["SECRET"] = SECRET


def test_what_it_makes_and_changes_is_shown_and_counted(checkout: Checkout, things: None) -> None:
    first = checkout.run(*UP)
    assert (first.returncode, first.stdout) == (Exit.OK, ""), first.stderr
    assert row(first.stderr, "infrastructure").endswith("4 created"), "the stack's own resource is one"
    assert first.stderr.count("the program warns") == 1, "though both the preview and the update say it"
    checkout.environ |= {"SIZE": "2", "MORE": "second fourth"}
    done = checkout.run(*UP)
    assert done.returncode == Exit.OK, done.stderr
    for line in ("first (Thing) changed", "third (Thing) removed", "fourth (Thing) created"):
        assert line in done.stderr
    assert row(done.stderr, "infrastructure").endswith("1 created, 1 changed, 1 removed, 2 unchanged")
    assert len(done.stderr.splitlines()) < 15
    assert list(checkout.home.rglob(ENGINE_LOGS)) == [], "the engine's own log is up to half of its work"
    logs = [path.read_text() for path in sorted(checkout.home.rglob("log/dev-up-*.log"))]
    assert all("Updating (dev)" in text for text in logs)
    assert SECRET not in "".join([*logs, first.stderr, done.stderr])


def test_what_fails_is_said_in_full_and_once(checkout: Checkout, things: None) -> None:
    checkout.environ["FAILS"] = "third"
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "error: third (Thing):\n" in done.stderr
    assert "the cloud has no third\n    and says why\n" in done.stderr
    assert done.stderr.count("the cloud has no third") == 1
    assert done.stderr.count("error") == 1
    assert "failed in infrastructure" in done.stderr
    del checkout.environ["FAILS"]
    again = checkout.run(*UP)
    assert again.returncode == Exit.OK, again.stderr
    assert "third (Thing) created" in again.stderr


def test_a_program_that_cannot_run_is_quoted(checkout: Checkout, things: None) -> None:
    (checkout.path / "stacks" / "__main__.py").write_text("raise LookupError('no such cloud')\n")
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert done.stderr.count("LookupError: no such cloud") == 1


def test_verbose_is_the_engines_own_output(checkout: Checkout, things: None) -> None:
    done = checkout.run(*UP, "--verbose")
    assert done.returncode == Exit.OK, done.stderr
    assert "Updating (dev)" in done.stdout
    assert row(done.stderr, "infrastructure").endswith("4 created")
    assert len(list(checkout.home.rglob(ENGINE_LOGS))) == 1


def test_json_is_the_engines_alone(checkout: Checkout, things: None) -> None:
    done = checkout.run(*UP, "--json")
    assert done.returncode == Exit.OK, done.stderr
    assert done.stdout.lstrip().startswith("{")
    assert row(done.stderr, "infrastructure").endswith("4 created")
