"""Machines' part in a rotation: API servers load keys, and etcd members count the objects that each key has
encrypted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from clouds.base.errors import CloudError
from components.model import Machine, Role, control_machines, plan
from components.model.control_plane.machines import members
from contract.documents.node_answers import ObjectsByKey, ServerKeys, of_text
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place
    from components.model import Environment
    from components.model.secrets.encryption_keys import EncryptionKeys

T = TypeVar("T")

LOAD_S = 150
"""Seconds until kube-apiserver uses a new file. kube-apiserver looks for changes once a minute, and retries a failed
load (k8s.io/apiserver 0.36, ``EncryptionConfigFileChangePollDuration``)."""
LIMIT_S = 600.0
"""Time limit for a machine's answer, seconds: fetching its secrets takes at most 300 (longhaul-secrets-refresh)."""
FETCH = "systemctl start longhaul-secrets-refresh.service"
TRIES = 2
"""Maximum number of times that a machine fetches: a fetch that was already running may have read the vault too
early."""


def outdated_servers(
    environment: Environment, control: ControlAccess[Any], place: Place[Any], keys: EncryptionKeys
) -> tuple[str, ...]:
    """Return the names of the API servers that do not use these keys. Raise ``CommandError`` for the first server that
    does not answer: no rotation begins while a server is away."""
    names = []
    for machine in _of(environment, Role.API):
        answer = _ask_server(control, place, machine.name, _encryption_command(keys))
        if answer.error:
            raise CommandError(f"{machine.name} {_why(answer, keys, environment.name)}")
        if answer.keys != keys.names or not answer.loaded:
            names.append(machine.name)
    return tuple(names)


def distribute(
    environment: Environment,
    control: ControlAccess[Any],
    place: Place[Any],
    keys: EncryptionKeys,
    *,
    tell: Callable[[str], None],
) -> None:
    """Have every API server load the keys, one server after the other. Raise ``CommandError`` for the first server that
    does not: a server without a key cannot read objects that other servers encrypt with the key."""
    for machine in _of(environment, Role.API):
        answer = _fetched(control, place, machine, keys, wait_s=LOAD_S)
        if answer.keys != keys.names or not answer.loaded:
            raise CommandError(f"{machine.name} {_why(answer, keys, environment.name)}")
        tell(f"{machine.name} uses {', '.join(keys.names)}")


def deliver(environment: Environment, control: ControlAccess[Any], place: Place[Any], keys: EncryptionKeys) -> None:
    """Have every API server's machine fetch the keys, whether its server runs or not. Raise ``CommandError`` for the
    first machine that has different keys afterwards."""
    for machine in _of(environment, Role.API):
        if _fetched(control, place, machine, keys).keys != keys.names:
            reason = "it could not fetch them (journalctl -u longhaul-secrets-refresh)"
            raise CommandError(f"{machine.name} does not have the keys {', '.join(keys.names)}: {reason}")


def count_objects_by_key(environment: Environment, control: ControlAccess[Any], place: Place[Any]) -> Mapping[str, int]:
    """Return the number of stored objects by the name of the key that encrypted them, from the first member of the main
    etcd cluster that answers. Raise ``CommandError`` with each member's reason when none answers."""
    reasons = []
    for machine in _of(environment, Role.ETCD):
        try:
            command, what = "longhaul-node encryption", "stored objects"
            return ask_machine(ObjectsByKey, control, place, machine.name, command, what=what).objects
        except CommandError as error:
            reasons.append(str(error))
    raise CommandError(f"no member reports how many objects the former key still encrypts: {'; '.join(reasons)}")


def _of(environment: Environment, role: Role) -> tuple[Machine, ...]:
    return tuple(members(control_machines(environment, plan(environment)), role))


def _fetched(
    control: ControlAccess[Any], place: Place[Any], machine: Machine, keys: EncryptionKeys, *, wait_s: int = 0
) -> ServerKeys:
    """Have an API server's machine fetch the keys, and return its report. ``wait_s`` is the time for the running server
    to load them, seconds."""
    script = f"{FETCH} && {_encryption_command(keys)}" + (f" --wait {wait_s}" if wait_s else "")
    answer = ServerKeys()
    for _ in range(TRIES):
        answer = _ask_server(control, place, machine.name, script)
        if answer.keys == keys.names:
            break
    return answer


def _encryption_command(keys: EncryptionKeys) -> str:
    return f"longhaul-node encryption --keys {','.join(keys.names)}"


def _ask_server(control: ControlAccess[Any], place: Place[Any], machine: str, script: str) -> ServerKeys:
    return ask_machine(ServerKeys, control, place, machine, script, what="encryption keys")


def ask_machine(
    kind: type[T], control: ControlAccess[Any], place: Place[Any], machine: str, script: str, *, what: str
) -> T:
    """Return a machine's answer to a script, as the dataclass ``kind`` of ``contract.documents.node_answers``. Raise
    ``CommandError``, which mentions ``what``, when the machine does not answer."""
    try:
        output = control.run_command(place, machine, script, timeout_s=LIMIT_S)
    except CloudError as error:
        raise CommandError(f"{machine} cannot be asked: {error}. `longhaul status` shows its state") from None
    try:
        return of_text(kind, output.stdout)
    except ValueError:
        lines = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
        raise CommandError(f"{machine} does not report its {what}: {lines[-1]}") from None


def _why(answer: ServerKeys, keys: EncryptionKeys, env: str) -> str:
    """Return why a server does not use the keys."""
    wanted, has = ", ".join(keys.names), ", ".join(answer.keys)
    if answer.error:
        return f"has the keys {has}, but {answer.error}. `longhaul up --env {env}` gives it the right to ask"
    if not has:
        return f"holds none of the vault's keys: `longhaul up --env {env}` replaces it with this release's machine"
    if answer.keys != keys.names:
        return f"has the keys {has} and not {wanted}: it could not fetch them (journalctl -u longhaul-secrets-refresh)"
    return f"has the keys {wanted}, but its kube-apiserver does not use them (journalctl -u kube-apiserver)"
