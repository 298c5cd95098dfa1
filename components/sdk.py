"""What Pulumi's SDK does for every resource that costs more than it tells (docs/previews.md has the figures)."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pulumi
from pulumi.runtime import register_stack_transformation
from pulumi.runtime.settings import SETTINGS

FRAMES = 12
"""Of the stack that the SDK stores with a resource: its own half a dozen, and as many of the program's."""

DEBUG = "LONGHAUL_SDK_DEBUG"
"""Variable that, set to anything, has the SDK send its debug messages, which `pulumi --debug` shows."""

_OLD_VERSION = re.compile(r"azure-native:\w+/v\d{8}\w*:")
"""A type of azure-native under the name of one version of Azure's interface."""


@contextmanager
def lean() -> Iterator[None]:
    """Declare resources inside the block at less cost; what holds beyond it concerns this process alone.

    The SDK stores the whole stack of each declaration, which was 40% of the state and names folders of whoever ran it;
    Python's collector goes again and again through hundreds of thousands of small objects that all live until the end;
    and the SDK tells the engine four or five times of each resource what it is about, each time waiting for the answer.
    """
    gc.disable()
    # Python looks through everything once more when it ends.
    atexit.register(gc.freeze)
    if not os.environ.get(DEBUG):
        pulumi.log.debug = _unsaid
    sys.tracebacklimit = FRAMES
    try:
        yield
    finally:
        # An error is to be shown whole.
        del sys.tracebacklimit


def forget_versions() -> None:
    """Leave out the earlier names that azure-native gives to each resource for each version of Azure's interface, some
    thirty: this program has never declared one under such a name, and the SDK works a URN out of each. Other earlier
    names stay. Needs a stack, and concerns what is declared afterwards."""
    register_stack_transformation(_without_versions)


def wait_once() -> None:
    """Have the SDK wait for all values declared so far as for one, which fails as soon as any of them does.

    Otherwise it waits for the first of thousands that comes, and looks through all the others again after each.
    """
    with SETTINGS.lock:
        known = tuple(SETTINGS.outputs)
        SETTINGS.outputs.clear()
        if known:
            SETTINGS.outputs.add(asyncio.ensure_future(_all(known)))


async def _all(values: Iterable[asyncio.Task[Any]]) -> None:
    come, _ = await asyncio.wait(values, return_when=asyncio.FIRST_EXCEPTION)
    for value in come:
        value.result()


def _unsaid(*_message: Any, **_resource: Any) -> None:
    """Instead of ``pulumi.log.debug``."""


def _without_versions(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    earlier = args.opts.aliases or ()
    kept = [alias for alias in earlier if not _is_version(alias)]
    if len(kept) == len(earlier):
        return None
    # Merging could only add to them.
    opts = pulumi.ResourceOptions.merge(args.opts, None)
    opts.aliases = kept
    return pulumi.ResourceTransformationResult(props=args.props, opts=opts)


def _is_version(alias: Any) -> bool:
    return (
        isinstance(alias, pulumi.Alias) and isinstance(alias.type_, str) and _OLD_VERSION.match(alias.type_) is not None
    )
