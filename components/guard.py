"""What must not be deleted by accident.

Two guards, both in the engine itself, whoever runs it:

- an etcd member is deleted only when the rest of its store is healthy and keeps quorum without it;
- the whole environment is destroyed only when its file says ``destroyable: true`` and the operator confirmed it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

import pulumi
from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from components.azure.api import AzureApi, AzureError

DESTROY_VARIABLE = "LONGHAUL_DESTROY"
"""Environment variable that ``longhaul destroy`` sets to the environment's name once the operator confirmed."""

ASK_S = 60.0
"""How long a peer may take to answer, seconds."""

Ask = Callable[[str], str]
"""Asks a peer, by its machine's name, whether the store survives; returns its JSON answer."""


class RefusedError(RuntimeError):
    """A guard refuses; says why and what to do instead."""


def confirmed(environment: str) -> bool:
    """Whether the operator confirmed that this environment is to be destroyed."""
    return os.environ.get(DESTROY_VARIABLE) == environment


def member_hook(
    *,
    environment: str,
    destroyable: bool,
    subscription: str,
    group: str,
    machine: str,
    peers: Sequence[str],
) -> ResourceHookBinding:
    """A hook that refuses to delete ``machine``, an etcd member, when its store would lose quorum."""

    def before_delete(_args: ResourceHookArgs) -> None:
        if destroyable and confirmed(environment):
            return
        api = AzureApi(subscription=subscription)

        def ask(peer: str) -> str:
            command = f"longhaul-node cluster --without {machine}"
            return api.run_command(group, peer, command, timeout_s=ASK_S).stdout

        check_quorum(machine=machine, peers=peers, ask=ask)

    hook = ResourceHook(f"{machine}-keeps-quorum", before_delete)
    return ResourceHookBinding(before_delete=[hook])


def check_quorum(*, machine: str, peers: Sequence[str], ask: Ask) -> None:
    """``RefusedError`` unless one of ``peers`` says that its store keeps quorum without ``machine``."""
    if not peers:
        raise RefusedError(
            f"{machine} is the only member of its store: deleting it loses the store. Declare three members first, or "
            "restore from a snapshot into a new environment."
        )
    silent: list[str] = []
    for peer in peers:
        try:
            answer = json.loads(ask(peer))
        except (AzureError, ValueError) as error:
            silent.append(f"{peer} ({error})")
            continue
        if answer.get("survives"):
            return
        reason = answer.get("reason", "no reason given")
        raise RefusedError(
            f"{machine} must stay: without it its store loses quorum ({reason}). Bring its peers back first."
        )
    raise RefusedError(
        f"{machine} must stay: no peer can say whether the store survives without it: {'; '.join(silent)}"
    )


class DestructionProvider(ResourceProvider):
    """Holds the environment: everything of worth was made before it, so it must go first, and it refuses to."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, object]) -> CreateResult:
        """Nothing to make."""
        return CreateResult(id_=str(props["environment"]), outs=props)

    def update(self, _id: str, _olds: dict[str, object], news: dict[str, object]) -> UpdateResult:
        """Remember whether the environment may be destroyed."""
        return UpdateResult(outs=news)

    def diff(self, _id: str, olds: dict[str, object], news: dict[str, object]) -> DiffResult:
        """Changes are remembered in place."""
        names = ("environment", "destroyable")
        return DiffResult(changes=any(olds.get(name) != news.get(name) for name in names), replaces=[])

    def delete(self, _id: str, props: dict[str, object]) -> None:
        """Refuse unless the environment is destroyable and the operator confirmed."""
        environment = str(props["environment"])
        if not props.get("destroyable"):
            raise RefusedError(
                f"{environment} is not destroyable: set `destroyable: true` in its file and run `up` first."
            )
        if not confirmed(environment):
            raise RefusedError(
                f"destroying {environment} was not confirmed: use `longhaul destroy --env {environment}`."
            )


class DestructionGuard(Resource, module="longhaul", name="DestructionGuard"):
    """Depends on everything of worth and refuses to go."""

    def __init__(self, name: str, *, environment: str, destroyable: bool, opts: ResourceOptions | None = None) -> None:
        properties: dict[str, pulumi.Input[object]] = {"environment": environment, "destroyable": destroyable}
        super().__init__(DestructionProvider(), name, properties, opts)
