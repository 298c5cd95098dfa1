"""Removal of work that Pulumi's SDK does for every resource and that costs more than it is worth (docs/previews.md has
the figures)."""

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
"""Number of stack frames that the SDK stores with a resource: about six of the SDK, and as many of the program."""

DEBUG = "LONGHAUL_SDK_DEBUG"
"""Environment variable: when set, the SDK sends its debug messages, which `pulumi --debug` shows."""

_OLD_VERSION = re.compile(r"azure-native:\w+/v\d{8}\w*:")
"""Pattern of azure-native types that name one version of Azure's interface."""


@contextmanager
def lean() -> Iterator[None]:
    """Lower the cost of declaring resources inside the block. Some effects outlast the block, in this process only.

    Three costs are avoided. The SDK stores the whole call stack of each declaration, which was 40% of the state and
    names folders of the operator. Python's garbage collector repeatedly examines hundreds of thousands of small objects
    that all live until the end (2.1 CPU s of a preview of production). And the SDK sends the engine four or five debug
    messages for each resource, and waits for the answer to each (2.4 CPU s); it has no setting for them.
    """
    gc.disable()
    # When Python ends, it would examine all objects once more.
    atexit.register(gc.freeze)
    if not os.environ.get(DEBUG):
        pulumi.log.debug = _unsaid
    sys.tracebacklimit = FRAMES
    try:
        yield
    finally:
        # Errors are shown with the whole stack.
        del sys.tracebacklimit


def forget_versions() -> None:
    """Drop the aliases that azure-native adds to each resource, about thirty: one for each version of Azure's
    interface. This program has never declared a resource under such a type, and the SDK computes a URN from each alias
    (1.2 CPU s of a preview of production). Other aliases stay. Needs a stack, and affects resources that are declared
    afterwards."""
    register_stack_transformation(_without_versions)


def wait_once() -> None:
    """Replace all values that the SDK waits for so far by a single value, which fails as soon as any of them fails.

    Otherwise the SDK examines thousands of values again each time that one of them arrives: 3.9 CPU s of a preview of
    production. The SDK has no setting for that.
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
    """Do nothing, in place of ``pulumi.log.debug``."""


def _without_versions(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    earlier = args.opts.aliases or ()
    kept = [alias for alias in earlier if not _is_version(alias)]
    if len(kept) == len(earlier):
        return None
    # A merge could only add aliases.
    opts = pulumi.ResourceOptions.merge(args.opts, None)
    opts.aliases = kept
    return pulumi.ResourceTransformationResult(props=args.props, opts=opts)


def _is_version(alias: Any) -> bool:
    return (
        isinstance(alias, pulumi.Alias) and isinstance(alias.type_, str) and _OLD_VERSION.match(alias.type_) is not None
    )
