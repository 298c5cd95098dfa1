"""The guard of pools' sizes; the engine runs it in ``tests/lab/providers/test_pool_engine.py``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from pulumi import ResourceHookArgs

from clouds.base.errors import CloudError
from components.control_plane.replacement import GuardRefusedError
from components.guards.pool_size import check, never_lower


def update(live: Callable[[], int | None], capacity: int | None) -> None:
    """Run the hook before an update that sends a capacity."""
    sent = lambda args: (args.new_inputs or {}).get("n")  # noqa: E731
    with mock.patch("pulumi.resource_hooks.register_resource_hook", return_value=None):
        binding = never_lower("dev-gpu-set", group="dev-gpu", live=live, sent=sent)
    (hook,) = binding.before_update or []
    args = ResourceHookArgs(urn="urn", id="id", name="dev-gpu-set", type="t", new_inputs={"n": capacity})
    called: Any = hook.callback(args)
    asyncio.run(called)


@pytest.mark.parametrize(("sent", "live"), [(3, 3), (4, 3), (0, 0), (1, None)])
def test_the_same_size_a_larger_one_and_a_group_that_is_gone_are_let_through(sent: int, live: int | None) -> None:
    check("dev-gpu", sent=sent, live=live)
    update(lambda: live, sent)


def test_a_smaller_size_is_refused_with_what_to_do() -> None:
    with pytest.raises(
        GuardRefusedError, match=r"dev-gpu stays as it is: it has 3 machines now, .* would leave 1"
    ) as refused:
        update(lambda: 3, 1)
    assert "`longhaul up`" in str(refused.value)
    assert "drain its nodes" in str(refused.value)


def test_a_size_that_is_not_known_is_refused() -> None:
    def silent() -> int:
        raise CloudError("no answer")

    with pytest.raises(GuardRefusedError, match=r"its size is not known \(no answer\)"):
        update(silent, 3)


def test_an_update_without_a_size_asks_nobody() -> None:
    def never() -> int:
        raise AssertionError

    update(never, None)
