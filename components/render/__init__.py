"""Files of machines: pure functions from the model to text.

A machine's files, and so its user-data, contain only what that machine uses, and nothing that changes with other parts
of the environment: a change of user-data replaces a control-plane machine. They contain no certificates, no keys, and
not the current members of an etcd cluster (see :mod:`components.render.etcd_members`). Files that are the same on every
machine are in the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from components.model import AddressPlan, Environment, Machine, Role
from components.model.secrets.vault import etcd_state_secret
from components.render import api_server_machine, etcd, node_files, secrets, vpn
from components.render.cloud_init import UserData, UserDataError, cloud_config
from components.render.file import File
from components.render.node_files import host_files, join_kubeconfig, pool_files
from contract.documents import backup_settings
from contract.documents.secret_files import SecretFile

__all__ = [
    "File",
    "UserDataError",
    "files",
    "host_files",
    "join_kubeconfig",
    "pool_files",
    "pool_user_data",
    "secret_files",
    "user_data",
    "vault_secrets",
]


class _Rendered(Protocol):
    """A module that renders the machines of a role."""

    def files(self, environment: Environment, addresses: AddressPlan, machine: Machine) -> dict[str, File]:
        """Return a machine's files, without the document of its secrets."""
        ...

    def secret_files(self, environment: Environment, machine: Machine) -> tuple[SecretFile, ...]:
        """Return the secrets that a machine fetches."""
        ...


_ROLES: Mapping[Role, _Rendered] = {Role.ETCD: etcd, Role.EVENTS: etcd, Role.API: api_server_machine, Role.VPN: vpn}
_TARGETS = {
    Role.ETCD: "longhaul-etcd.target",
    Role.EVENTS: "longhaul-etcd.target",
    Role.API: "longhaul-api.target",
    Role.VPN: "longhaul-vpn.target",
}


def files(environment: Environment, addresses: AddressPlan, machine: Machine) -> dict[str, File]:
    """Return every file of a control-plane machine, by path, sorted."""
    role = _ROLES[machine.role]
    fetched = secrets.document(environment, role.secret_files(environment, machine))
    return dict(sorted((role.files(environment, addresses, machine) | fetched).items()))


def user_data(environment: Environment, addresses: AddressPlan, machine: Machine) -> str:
    """Return the machine's ``#cloud-config``; raise ``UserDataError`` when its cloud would not accept it."""
    return cloud_config(
        UserData(
            name=machine.name,
            site=environment.sites[machine.site],
            files=files(environment, addresses, machine),
            start=_TARGETS[machine.role],
        )
    )


def pool_user_data(
    environment: Environment, addresses: AddressPlan, pool_name: str, *, kubernetes_ca: str, group: str | None = None
) -> str:
    """Return the ``#cloud-config`` of a pool's machines; with ``group``, of the machines of that scale set. Raise
    ``UserDataError`` when the cloud would not accept it. It contains no secret. Its last file,
    :data:`node_files.COMPLETE`, starts the node's units, long before cloud-init itself is done."""
    machine_files = pool_files(environment, addresses, pool_name, kubernetes_ca=kubernetes_ca, group=group)
    machine_files[node_files.COMPLETE] = File(content="")
    return cloud_config(
        UserData(
            name=f"{environment.name}-{pool_name}",
            site=environment.sites[environment.pools[pool_name].site],
            files=machine_files,
            start=None,
        )
    )


def secret_files(environment: Environment, machine: Machine) -> tuple[SecretFile, ...]:
    """Return the files that a control-plane machine makes of the vault's secrets."""
    return _ROLES[machine.role].secret_files(environment, machine)


def vault_secrets(
    environment: Environment,
    addresses: AddressPlan,  # noqa: ARG001  (as its neighbours)
    machine: Machine,
) -> tuple[str, ...]:
    """Return the names of the vault's secrets that ``machine`` reads, sorted. The machine must be allowed to read
    exactly these."""
    names = {name for file in secret_files(environment, machine) for name in file.secrets}
    if machine.role.is_etcd:
        names.add(etcd_state_secret(machine.role))
        if environment.backups is not None:
            names.add(backup_settings.SECRET)
    return tuple(sorted(names))
