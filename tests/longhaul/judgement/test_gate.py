"""``longhaul up`` refuses the same changes as ``longhaul plan``."""

from __future__ import annotations

import pytest

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import UP, Checkout, FakeEngine
from tests.longhaul.judgement.steps import GROUP, OWN, Step, step, text

VAULT = step("delete", "azure-native:keyvault:Vault", "dev-control-plane-vault")
AUTHORITY = step("replace", f"{OWN}CertificateAuthority", "dev-control-plane-ca-etcd")
POOL = step("delete", GROUP, "dev-cpu-group", {"minSize": 1, "maxSize": 8})
TAGS = {"longhaul-environment": "dev", "longhaul-site": "weu"}
UNTAGGED = step("create", "azure-native:network:LoadBalancer", "dev-api")
TAGGED = step("create", "azure-native:network:LoadBalancer", "dev-api", after={"tags": TAGS})


def says(engine: FakeEngine, *steps: Step) -> None:
    engine.has_stack()
    engine.previews(text(steps))


def verbs(engine: FakeEngine) -> list[str]:
    return [call["words"][0] for call in engine.calls()]


@pytest.mark.parametrize("one", [VAULT, AUTHORITY, UNTAGGED])
def test_what_a_plan_refuses_is_not_done_in_the_same_words(one: Step, checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, TAGGED, one)
    planned = checkout.run("plan", "--env", "dev")
    refused = [line for line in planned.stdout.splitlines() if line.startswith("  refused: ")]
    done = checkout.run(*UP)
    assert (planned.returncode, done.returncode) == (Exit.REFUSED, Exit.REFUSED)
    assert refused
    assert set(refused) <= set(done.stderr.splitlines())
    assert "dev is not touched" in done.stderr
    assert verbs(engine) == ["preview", "preview"]


def test_what_needs_care_is_done(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, step("delete", "azure-native:network:LoadBalancer", "dev-api", {"tags": TAGS}))
    assert checkout.run(*UP).returncode == Exit.OK
    assert verbs(engine) == ["preview", "up"]


def test_more_nodes_go_where_that_is_said(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, POOL)
    assert checkout.run(*UP).returncode == Exit.REFUSED
    assert checkout.run(*UP, "--max-removed", "100").returncode == Exit.OK


@pytest.mark.parametrize("words", [("--replace", "**::dev-control-plane-ca-etcd"), ("--target-replace=a::*-ca-etcd",)])
def test_what_is_named_is_meant(words: tuple[str, ...], checkout: Checkout, engine: FakeEngine) -> None:
    """docs/certificates.md tells users to replace a lost authority in this way."""
    says(engine, AUTHORITY)
    assert checkout.run(*UP, "--", *words).returncode == Exit.OK
    says(engine, AUTHORITY, VAULT)
    assert checkout.run(*UP, "--", *words).returncode == Exit.REFUSED


def test_whoever_skips_the_preview_has_the_engines_own_guards(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, VAULT)
    assert checkout.run(*UP, "--", "--skip-preview").returncode == Exit.OK
    assert verbs(engine) == ["up"]


def test_of_a_new_stack_there_is_nothing_to_lose(checkout: Checkout, engine: FakeEngine) -> None:
    engine.previews(text([VAULT]))
    assert checkout.run(*UP).returncode == Exit.OK
    assert verbs(engine) == ["stack", "up"]


def test_a_preview_that_fails_ends_it(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine)
    engine.fails("preview")
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "nothing to judge" in done.stderr
    assert verbs(engine) == ["preview"]


def test_with_json_the_engine_tells_of_its_own_preview(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine)
    assert checkout.run(*UP, "--json").returncode == Exit.OK
    assert [word for word in engine.calls()[-1]["words"] if word in ("--json", "--skip-preview")] == ["--json"]
