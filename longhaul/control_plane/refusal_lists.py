"""API servers' part in the quarantine of a machine and in the revocation of a person's access: they refuse everybody on
a list, whatever credentials are presented."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from clouds.base.errors import CloudError
from components.model import Role, control_machines, plan
from components.model.control_plane.machines import members
from contract.documents.node_answers import of_text
from contract.documents.refusals import RefusedClients, digest_of
from longhaul.control_plane.encryption_keys import FETCH, LIMIT_S, TRIES
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from longhaul.vault.record import VaultRecord

T = TypeVar("T")

LOAD_S = 150
"""Seconds until kube-apiserver uses a new list. kube-apiserver reads the file when the file changes, and once a minute
(k8s.io/kubernetes 1.36, pkg/kubeapiserver/authorizer/reload.go)."""


@dataclass(frozen=True, kw_only=True)
class RefusalList:
    """A list of users whom API servers refuse."""

    ask: str
    """Command on an API server's machine that prints whom the server refuses (images/rootfs,
    machine/longhaul_node.py)."""
    nobody: str
    """Text for an empty list."""


MACHINES = RefusalList(ask="longhaul-node quarantine", nobody="no machine")
PEOPLE = RefusalList(ask="longhaul-node revoked", nobody="nobody")


def distribute(vault: VaultRecord, names: Sequence[str], *, tell: Callable[[str], None]) -> None:
    """Have every API server refuse the machines ``names``, one after the other. Raise ``CommandError`` for the first
    server that does not."""
    for server in servers(vault):
        tell(f"{server} refuses {', '.join(distribute_to(vault, server, lambda: names, MACHINES)) or MACHINES.nobody}")


def distribute_to(
    vault: VaultRecord, server: str, wanted: Callable[[], Sequence[str]], refusal: RefusalList
) -> Sequence[str]:
    """Have one API server refuse the names that ``wanted`` returns, and return these names. Raise ``CommandError`` when
    the server does not. ``wanted`` is called again when the server has a different list, since another run may have
    changed it."""
    answer = RefusedClients()
    fetched, names = False, tuple(wanted())
    for _ in range(TRIES):
        script = f"{FETCH} && {refusal.ask} --digest {digest_of(names)} --wait {LOAD_S}"
        answer = ask(RefusedClients, vault, server, script)
        fetched = answer.digest == digest_of(names)
        if fetched:
            break
        names = tuple(wanted())
    if not fetched or not answer.loaded:
        raise CommandError(f"{server} {_why(answer, vault.environment.name, fetched=fetched)}")
    return names


def end_connections(vault: VaultRecord, *, tell: Callable[[str], None], refusal: RefusalList = MACHINES) -> None:
    """Restart the API servers that have connections from before the list changed, one server after the other."""
    for server in servers(vault):
        answer = ask(RefusedClients, vault, server, f"{refusal.ask} --end-connections")
        if not answer.ended:
            raise CommandError(
                f"{server} may still serve earlier requests ({answer.error or 'it was not restarted'}): `longhaul "
                "status` shows its state"
            )
        tell(f"{server} has ended open requests")


def servers(vault: VaultRecord) -> list[str]:
    """Return the names of the API servers' machines."""
    return _of(vault, Role.API)


def vpn_machines(vault: VaultRecord) -> list[str]:
    """Return the names of the VPN machines, which refuse people as API servers do, and end their connections at
    once."""
    return _of(vault, Role.VPN)


def _of(vault: VaultRecord, role: Role) -> list[str]:
    machines = control_machines(vault.environment, plan(vault.environment))
    return [machine.name for machine in members(machines, role)]


def ask(kind: type[T], vault: VaultRecord, machine: str, script: str) -> T:
    """Return a machine's answer to a script, as a dataclass. Raise ``CommandError`` when it does not answer."""
    try:
        output = vault.control.run_command(vault.place, machine, script, timeout_s=LIMIT_S)
    except CloudError as error:
        raise CommandError(
            f"{machine} cannot be asked: {error}. While it runs, it may serve clients that others refuse: `longhaul "
            "status` shows its state, and `longhaul up` starts or makes it"
        ) from None
    try:
        return of_text(kind, output.stdout)
    except ValueError:
        lines = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
        raise CommandError(
            f"{machine} does not report whom it refuses: {lines[-1]}. `longhaul up --env {vault.environment.name}` "
            "replaces it with this release's machine"
        ) from None


def _why(answer: RefusedClients, env: str, *, fetched: bool) -> str:
    """Return why a server does not refuse the names on its list."""
    if answer.error:
        return f"does not report whom it refuses: {answer.error}. `longhaul up --env {env}` repairs it"
    if fetched:
        return "has the list, but its kube-apiserver does not use it (journalctl -u kube-apiserver)"
    return "could not fetch the list (journalctl -u longhaul-secrets-refresh)"
