"""Control-plane machines' part in rotations with overlap: they fetch keys from the vault, and use them."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping

from components.model import Machine, Role, control_machines, plan
from components.model.control_plane.machines import members
from components.model.network.address_plan import FRONTEND
from components.model.secrets.vault import ROTATIONS
from components.render import secret_files
from contract.documents.node_answers import MachineCredentials
from contract.documents.secret_files import SecretFile
from longhaul.control_plane.encryption_keys import FETCH, TRIES, ask_machine
from longhaul.terminal.exits import CommandError
from longhaul.vault.rotation import RotationVault

_PLACE = re.compile(r"\$\{([a-z0-9-]+)(?::([a-z]+))?\}")
_PUBLIC = re.compile(r"-----BEGIN (CERTIFICATE|PUBLIC KEY)-----([^-]+)-----END \1-----")

_UNREAD = "its program has not read the file (`longhaul status` shows its state, `journalctl` there the reason)"

Digests = Mapping[str, tuple[str, ...]]
"""SHA-256 of every certificate and public key in a file, in order, by file."""


def distribute(vault: RotationVault, secrets: Callable[[str], bool], *, tell: Callable[[str], None]) -> None:
    """Have machines fetch and use the secrets whose names ``secrets`` accepts, one machine after the other: all API
    servers, and the etcd members and VPN machines with such secrets. Raise ``CommandError`` for the first machine that
    does not."""
    for machine in _holders(vault, secrets):
        wanted = _wanted(vault, machine, secrets)
        rotations = json.loads(vault.get(ROTATIONS)) if machine.role is Role.API else None
        answer = MachineCredentials()
        for _ in range(TRIES):
            answer = _ask(vault, machine, _take_over(vault, machine))
            if _has(answer, wanted) and (rotations is None or answer.rotations == rotations):
                break
        if problem := _problem(answer, wanted):
            raise CommandError(f"{machine.name} {problem}. Run this again: it continues from here")
        if wanted:
            tell(f"{machine.name} has {', '.join(sorted(wanted))}")


def outdated_machines(vault: RotationVault, name: str, secrets: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the API servers that still know the rotation ``name``, and the machines whose programs use older secrets
    than the machine has. Raise ``CommandError`` for the first machine that does not answer: no rotation begins while a
    machine is away."""
    names = []
    for machine in _holders(vault, secrets):
        answer = _ask(vault, machine, "longhaul-node credentials")
        if name in (answer.rotations or {}) or answer.unused:
            names.append(machine.name)
    return tuple(names)


def _ask(vault: RotationVault, machine: Machine, script: str) -> MachineCredentials:
    return ask_machine(MachineCredentials, vault.control, vault.place, machine.name, script, what="credentials")


def _holders(vault: RotationVault, secrets: Callable[[str], bool]) -> tuple[Machine, ...]:
    """Return the members and VPN machines with such secrets, then all API servers, which know every rotation."""
    machines = control_machines(vault.environment, plan(vault.environment))
    holders = [
        machine
        for machine in machines
        if machine.role is not Role.API and any(map(secrets, _secrets_on(vault, machine)))
    ]
    return (*holders, *members(machines, Role.API))


def _secrets_on(vault: RotationVault, machine: Machine) -> frozenset[str]:
    return frozenset[str]().union(*(file.secrets for file in _files(vault, machine)))


def _files(vault: RotationVault, machine: Machine) -> tuple[SecretFile, ...]:
    return secret_files(vault.environment, machine)


def _take_over(vault: RotationVault, machine: Machine) -> str:
    """Return the command with which a machine fetches its secrets, and restarts programs that were started with other
    secrets."""
    servers = members(control_machines(vault.environment, plan(vault.environment)), Role.API)
    options = _frontend(vault, others=len(servers) > 1) if machine.role is Role.API else ""
    return f"{FETCH} && longhaul-node credentials --take-over{options}"


def _frontend(vault: RotationVault, *, others: bool) -> str:
    """Return the option with the address at which other API servers answer; empty when there are none."""
    environment = vault.environment
    site = plan(environment).sites[environment.control_plane.site]
    address = f"{site.subnet('api')[FRONTEND]}:{environment.control_plane.api.port}"
    return f" --frontend {address}" if others else ""


def _wanted(vault: RotationVault, machine: Machine, secrets: Callable[[str], bool]) -> Digests:
    """Return the digests that a machine should have, from the vault."""
    files = [file for file in _files(vault, machine) if any(map(secrets, file.secrets))]
    return {file.path.rpartition("/")[2]: digests(_content(vault, file)) for file in files}


def _content(vault: RotationVault, file: SecretFile) -> str:
    def value(match: re.Match[str]) -> str:
        text = vault.get(match[1])
        return str(json.loads(text)[match[2]]) if match[2] else text

    return _PLACE.sub(value, file.content)


def digests(text: str) -> tuple[str, ...]:
    """Return the SHA-256 of every certificate and public key (PEM) in a text, hexadecimal, in the machines' format."""
    return tuple(hashlib.sha256(b64decode(match[2])).hexdigest() for match in _PUBLIC.finditer(text))


def _has(answer: MachineCredentials, wanted: Digests) -> bool:
    return all(answer.files.get(name, ()) == expected for name, expected in wanted.items())


def _problem(answer: MachineCredentials, wanted: Digests) -> str:
    """Return why a machine does not use the wanted secrets; empty when it does."""
    if not _has(answer, wanted):
        names = ", ".join(sorted(wanted))
        return f"does not have {names} as the vault does: it could not fetch them (journalctl -u longhaul-secrets)"
    if answer.error:
        return f"does not use its present files: {answer.error}"
    if other := [name for name, expected in wanted.items() if not {*answer.shown.get(name, ())} <= {*expected[:1]}]:
        return f"has {', '.join(other)} as the vault does, but a port shows another certificate: {_UNREAD}"
    unused = ", ".join(answer.unused)
    return f"has units that do not use its present files: {unused}" if unused else ""
