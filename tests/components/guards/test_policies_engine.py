"""With the real engine, a resource that breaks a policy is neither made nor changed, for any user."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from components.model.policy.judging import PREVIEW_JUDGED
from lab import tools
from tests.components.guards.immutable_program import RANGE
from tests.components.guards.immutable_stack import Stack

pytestmark = pytest.mark.engine

FREE, JUDGING = "bastion", "bastion policies"
REFUSED = "dev-bastion violates the policy public-address."


@pytest.fixture(name="stack")
def _stack(tmp_path: Path) -> Stack:
    found = tools.ensure(["pulumi"], log_dir=tmp_path / "log", progress=print)
    return Stack(tmp_path, found["pulumi"])


def waived(stack: Stack, *, days: int) -> dict[str, Any]:
    """Return the environment with a waiver that is valid for ``days`` more days."""
    until = datetime.now(UTC).date() + timedelta(days=days)
    words = {"why": "a bastion for a week", "until": str(until), "approved_by": "somebody"}
    return {**stack.environment, "waivers": [{"rule": "public-address", "resource": "dev-bastion", **words}]}


def test_what_breaks_a_policy_is_not_made(stack: Stack) -> None:
    refused = stack.run("up", "--yes", fails=True, parts=JUDGING)
    assert REFUSED in refused
    assert "dev-bastion is a public address that no egress, IPsec gateway or `vpn` accounts for" in refused
    assert "`waivers: [{rule: public-address, resource: dev-bastion, why:" in refused
    assert "hidden" not in refused
    assert stack.names() == set(), "the preview ends it: nothing is touched"

    assert REFUSED in stack.up(fails=True, parts=JUDGING)
    assert "dev-bastion" not in stack.names(), "without a preview, the resource itself is not made"
    assert "2 to create" in stack.run("preview", parts=JUDGING, **{PREVIEW_JUDGED: "1"}), (
        "whoever judges the preview sees it"
    )
    assert REFUSED in stack.up(fails=True, parts=JUDGING, **{PREVIEW_JUDGED: "1"}), "and makes it no more than others"


def test_a_waiver_admits_it_for_as_long_as_it_stands(stack: Stack) -> None:
    assert REFUSED in stack.up(waived(stack, days=-1), fails=True, parts=JUDGING)
    stack.up(waived(stack, days=0), parts=JUDGING)
    assert "dev-bastion" in stack.names()
    hooks = [one["resourceHooks"] for one in stack.resources() if one["urn"].endswith("dev-bastion")]
    assert hooks == [{"BeforeCreate": ["policies"], "BeforeUpdate": ["policies"]}], json.dumps(hooks)

    # An existing resource blocks nothing, since a plan only marks it for attention; but it may be neither changed nor
    # replaced.
    stack.up(waived(stack, days=-1), parts=f"{JUDGING} secret")
    assert REFUSED in stack.up(waived(stack, days=-1), fails=True, parts=f"{JUDGING} secret", **{RANGE: "two"})
    stack.up(parts="secret")
    assert "dev-bastion" not in stack.names(), "it goes unasked"


def test_what_was_there_before_the_policies_is_no_change(stack: Stack) -> None:
    stack.up(parts=FREE)
    stack.run("preview", "--expect-no-changes", parts=JUDGING)
    stack.up(parts=JUDGING)
