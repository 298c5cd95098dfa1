"""Declarations of a Pulumi program, collected without an engine: every registration as the engine would receive it."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from unittest import mock

import pulumi
from pulumi.runtime import mocks, rpc
from pulumi.runtime.proto import provider_pb2
from pulumi.runtime.settings import SETTINGS
from pulumi.runtime.stack import run_pulumi_func
from pulumi.runtime.sync_await import _ensure_event_loop

from components.environment.lean_sdk import FRAMES, _is_version

Outputs = Mapping[str, pulumi.Input[Any]]
Answer = Callable[["Declared"], dict[str, Any]]
"""Function that returns what a cloud adds to a resource's own inputs."""

Told = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Function that describes an existing part, by a function's token and its arguments, as a cloud would."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One registration."""

    type: str
    name: str
    custom: bool
    """True for a cloud's resource, False for a component."""
    inputs: dict[str, Any]
    """Inputs as sent: secrets are still wrapped, see :func:`plain`."""
    ignored: tuple[str, ...]
    """Properties whose changes are ignored."""
    secret_outputs: tuple[str, ...]
    delete_timeout: str = ""
    """Longest time that its deletion may take; empty for the provider's default."""
    after: frozenset[str] = frozenset()
    """Names of the resources that it waits for."""
    urn: str = ""
    parent: str = ""
    """URN of its parent; the stack's when it has none."""
    aliases: tuple[Any, ...] = ()
    """Aliases as sent (``pulumi/alias.proto``); the engine applies the earlier names of parents."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """Everything that one run declared."""

    resources: tuple[Declared, ...]
    outputs: dict[str, Any] = field(default_factory=dict)
    secret: dict[str, bool] = field(default_factory=dict)
    """True for each output that is secret."""

    def of(self, type_: str) -> tuple[Declared, ...]:
        """Return every resource of one type."""
        return tuple(resource for resource in self.resources if resource.type == type_)

    def clouds(self) -> tuple[Declared, ...]:
        """Return every resource that is not a component."""
        return tuple(resource for resource in self.resources if resource.custom)


def plain(value: Any) -> Any:
    """Return ``value`` with secrets unwrapped."""
    if rpc.is_rpc_secret(value):
        return plain(rpc.unwrap_rpc_secret(value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def open_text(value: Any) -> str:
    """Return everything in ``value`` that is not wrapped as a secret, as text."""

    def strip(part: Any) -> Any:
        if rpc.is_rpc_secret(part):
            return "[secret]"
        if isinstance(part, dict):
            return {key: strip(item) for key, item in part.items()}
        return [strip(item) for item in part] if isinstance(part, list) else part

    return json.dumps(strip(value), default=str)


class _Monitor(mocks.MockMonitor):
    """Records the requests, and answers as a cloud would."""

    def __init__(self, answer: Answer, told: Told) -> None:
        super().__init__(_Nothing())
        self._told = told
        self.declared: list[Declared] = []
        self._answer = answer
        self._one_at_a_time = Lock()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  (gRPC's name)
        """Register a resource; a pool of threads calls this."""
        with self._one_at_a_time:
            return self._register(request)

    def _register(self, request: Any) -> Any:
        _ensure_event_loop()  # type: ignore[no-untyped-call]
        resource = Declared(
            type=request.type,
            name=request.name,
            custom=request.custom,
            inputs=rpc.deserialize_properties(request.object),
            ignored=tuple(request.ignoreChanges),
            secret_outputs=tuple(request.additionalSecretOutputs),
            delete_timeout=request.customTimeouts.delete,
            after=frozenset(urn.rpartition("::")[2] for urn in request.dependencies),
            urn=self.make_urn(request.parent, request.type, request.name),
            parent=request.parent,
            aliases=tuple(request.aliases),
        )
        if request.type != "pulumi:pulumi:Stack":
            self.declared.append(resource)
        self.mocks = _Fixed(resource, self._answer)
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]

    def Invoke(self, request: Any) -> Any:  # noqa: N802  (gRPC's name)
        """Answer a question about an existing part."""
        values = self._told(request.tok, rpc.deserialize_properties(request.args))
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").update(values)  # a word that Python keeps for itself
        return response

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Return the URN as the engine makes it, from the types of all parents; the SDK's mocks use only the last
        one."""
        kinship = parent.split("::")[2] if parent else "pulumi:pulumi:Stack"
        chain = type_ if kinship == "pulumi:pulumi:Stack" else f"{kinship}${type_}"
        return f"urn:pulumi:test::longhaul::{chain}::{name}"


def _untold(token: str, args: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError(f"the program asks {token}, which needs a cloud even in a preview")


class _Nothing(mocks.Mocks):
    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        return _untold(args.token, args.args), None

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise AssertionError(f"{args.name} is read from a cloud")


class _Fixed(_Nothing):
    def __init__(self, resource: Declared, answer: Answer) -> None:
        self._resource, self._answer = resource, answer

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        own = self._resource
        return f"{own.name}-id", {**plain(own.inputs), **self._answer(own)}


async def _settled() -> None:
    """Wait for all outputs, and for those that they lead to. The SDK does this too, but each time that one output is
    there it waits for all others again: half of the time that a whole environment takes."""
    failed: list[asyncio.Task[Any]] = []
    while SETTINGS.outputs:
        under_way = list(SETTINGS.outputs)
        SETTINGS.outputs.clear()
        await asyncio.wait(under_way)
        failed += [task for task in under_way if task.cancelled() or task.exception()]
    SETTINGS.outputs.update(failed)


def declare(build: Callable[[], Outputs], *, answer: Answer = lambda _: {}, told: Told = _untold) -> Program:
    """Run ``build``, and collect what it declares and the values of its outputs. Runs are independent of each other."""
    monitor, resolved = _Monitor(answer, told), dict[str, tuple[Any, bool]]()

    async def resolve(outputs: Outputs) -> None:
        for name, value in outputs.items():
            output = pulumi.Output.from_input(value)
            resolved[name] = (await output.future(), await output.is_secret())

    async def run() -> None:
        # A failure is raised once; tasks that failed with it would be reported when they are collected, in any test.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        # Otherwise this run would wait for what a failed program has left behind.
        SETTINGS.outputs.clear()
        mocks.set_mocks(_Nothing(), project="longhaul", stack="test", preview=False, monitor=monitor)
        built: Future[Outputs] = Future()

        def again() -> None:
            built.result()

        try:
            built.set_result(build())
        except Exception as error:  # noqa: BLE001 - raised by the SDK, once it has waited for what is under way
            built.set_exception(error)
        await _settled()
        await run_pulumi_func(again)
        await resolve(built.result())

    # Only an engine can call hooks.
    unregistered = mock.patch("pulumi.resource_hooks.register_resource_hook", return_value=None)
    unbound = mock.patch("pulumi.runtime.resource._prepare_resource_hooks", mock.AsyncMock(return_value=None))
    with unregistered, unbound, _lean():
        contextvars.copy_context().run(asyncio.run, run())
    return Program(
        # They come from several threads, in an order that differs from run to run.
        resources=tuple(sorted(monitor.declared, key=lambda one: one.urn)),
        outputs={name: value for name, (value, _) in resolved.items()},
        secret={name: secret for name, (_, secret) in resolved.items()},
    )


@contextmanager
def _lean() -> Iterator[None]:
    """Leave out meanwhile what the program itself leaves out (components/environment/lean_sdk.py): the collection of
    garbage, long call stacks, and aliases for versions of Azure's interface. Together they take most of the time of a
    declaration."""
    init = pulumi.CustomResource.__init__

    def without_versions(
        self: Any, t: str, name: str, props: Any = None, opts: Any = None, *more: Any, **by: Any
    ) -> None:
        if opts is not None and opts.aliases:
            opts = pulumi.ResourceOptions.merge(opts, None)
            opts.aliases = [alias for alias in opts.aliases if not _is_version(alias)]
        init(self, t, name, props, opts, *more, **by)

    shallow = mock.patch.object(sys, "tracebacklimit", FRAMES, create=True)
    gc.disable()
    try:
        with shallow, mock.patch.object(pulumi.CustomResource, "__init__", without_versions):
            yield
    finally:
        gc.enable()


def every(value: Any) -> Iterator[Any]:
    """Yield ``value`` and everything inside it."""
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from every(item)
