"""API servers' part in a quarantine: each refuses the machines of the list, whatever certificate they present."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from components.model import Role, control_machines, plan
from components.model.machines import members
from longhaul.exits import CommandError

if TYPE_CHECKING:
    from components.model.quarantine import Quarantine
    from longhaul.quarantine.record import Record

LOAD_S = 150
"""Seconds in which kube-apiserver has to use a new list. It reads the file when that changes, and once a minute
(k8s.io/kubernetes 1.36, pkg/kubeapiserver/authorizer/reload.go)."""
LIMIT_S = 600.0
"""Time limit in seconds of a machine's answer: a fetch of its secrets takes 300 at most (longhaul-secrets-refresh)."""
FETCH = "systemctl start longhaul-secrets-refresh.service"
ASK = "longhaul-node quarantine"
END = f"{ASK} --end-connections"
TRIES = 2
"""Number of times that a machine fetches: a fetch that was under way may have read the vault before."""


def hand_out(record: Record, quarantine: Quarantine, *, tell: Callable[[str], None]) -> None:
    """Have every API server refuse the machines of the list, all of them before anything else is done. ``CommandError``
    for the first that does not."""
    wanted = ",".join(quarantine.names)
    for name in _servers(record):
        answer: Mapping[str, Any] = {}
        for _ in range(TRIES):
            answer = _asked(record, name, f"{FETCH} && {ASK} --names '{wanted}' --wait {LOAD_S}")
            if tuple(answer.get("names", ())) == quarantine.names:
                break
        if tuple(answer.get("names", ())) != quarantine.names or not answer.get("loaded"):
            raise CommandError(f"{name} {_why(answer, record.environment.name)}")
        tell(f"{name} refuses {', '.join(quarantine.names) or 'no machine'}")


def end_connections(record: Record, *, tell: Callable[[str], None]) -> None:
    """Start the servers anew that have connections from before, one after the other."""
    for name in _servers(record):
        answer = _asked(record, name, END)
        if not answer.get("ended"):
            raise CommandError(
                f"{name} may still serve what was asked before ({answer.get('error') or 'it was not restarted'}): "
                "`longhaul status` says how it is"
            )
        tell(f"{name} has ended what was open")


def _servers(record: Record) -> list[str]:
    machines = control_machines(record.environment, plan(record.environment))
    return [machine.name for machine in members(machines, Role.API)]


def _asked(record: Record, machine: str, script: str) -> Mapping[str, Any]:
    try:
        output = record.control.run_command(record.place, machine, script, timeout_s=LIMIT_S)
    except CloudError as error:
        raise CommandError(
            f"{machine} cannot be asked: {error}. While it runs, it may serve a machine in quarantine: `longhaul "
            "status` says how it is, and `longhaul up` starts or makes it"
        ) from None
    try:
        answer = json.loads(output.stdout)
    except ValueError:
        said = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
        raise CommandError(
            f"{machine} does not tell whom it refuses: {said[-1]}. `longhaul up --env {record.environment.name}` makes "
            "it anew as this release wants it"
        ) from None
    return answer if isinstance(answer, dict) else {}


def _why(answer: Mapping[str, Any], env: str) -> str:
    """Return why a server does not refuse the machines."""
    if answer.get("error"):
        return f"does not tell whom it refuses: {answer['error']}. `longhaul up --env {env}` makes it as it should be"
    if not answer.get("loaded") and answer.get("names"):
        return "has the list, but its kube-apiserver does not use it (journalctl -u kube-apiserver)"
    return "could not fetch the list (journalctl -u longhaul-secrets-refresh)"
