"""Client certificates of three members as a program of the engine, as 0.1.0 declared them and as they are now. The
vault is a folder, and a machine is nothing but its readiness."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from components.control_plane import certificates, member_clients, secrets
from components.control_plane.certificates import AuthorityProvider, CertificateAuthority, IssuedCertificate
from components.control_plane.member_clients import MemberClientProvider, MemberClients, OwnClientProvider
from components.model import Authority, Certificate
from components.model.secrets.certificates import ETCD_CLIENT, Usage

RELEASE, VAULT, AILING = "RELEASE", "VAULT", "AILING"
"""Variables: the release that declares, the vault's folder, and the machine that does not become ready."""
OLD, NEW = "0.1.0", "now"

PLANNED = tuple(
    Certificate(
        name=f"dev-etcd-{index}-client",
        part="client",
        authority="etcd",
        formerly=ETCD_CLIENT,
        holder=f"dev-etcd-{index}",
        common_name=f"dev-etcd-{index}",
        usages=(Usage.CLIENT,),
    )
    for index in range(3)
)


class FolderVault:
    """A vault whose address is a folder."""

    def __init__(self, url: str) -> None:
        self._folder = Path(url)

    def get(self, name: str) -> str | None:
        path = self._folder / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    def set(self, name: str, value: str, *, content_type: str = "") -> None:
        (self._folder / name).write_text(value, encoding="utf-8")

    def delete(self, name: str) -> None:
        (self._folder / name).unlink()


class _InFolder:
    """Base of the product's own providers, with this module's vault in the engine's process for them, too."""

    def __new__(cls) -> Self:
        put_vault()
        return super().__new__(cls)


class Authorities(_InFolder, AuthorityProvider):
    """Makes authorities."""


class Issued(_InFolder, certificates.CertificateProvider):
    """Issues certificates."""


class Clients(_InFolder, MemberClientProvider):
    """Issues members' client certificates."""


class Own(_InFolder, OwnClientProvider):
    """Has them of their own authority."""


class ReadyProvider(ResourceProvider):
    """Waits for nothing."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> CreateResult:
        self._look(props)
        return CreateResult(id_=props["machine"], outs=props)

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        self._look(news)
        return UpdateResult(outs=news)

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return DiffResult(changes=olds["release"] != news["release"], replaces=[])

    def _look(self, props: dict[str, Any]) -> None:
        if props["ailing"]:
            raise RuntimeError(f"{props['machine']} is not ready")


class Ready(Resource, module="stand-in", name="Ready"):
    def __init__(self, machine: str, *, release: str, opts: ResourceOptions) -> None:
        properties = {"machine": machine, "release": release, "ailing": os.environ.get(AILING) == machine}
        super().__init__(ReadyProvider(), f"{machine}-ready", properties, opts)


def put_vault() -> None:
    """Put the folder in the place of the components' vault."""
    for module in (certificates, member_clients, secrets):
        module.Vault = FolderVault


def main() -> None:
    """Declare everything."""
    certificates.AuthorityProvider, certificates.CertificateProvider = Authorities, Issued
    member_clients.MemberClientProvider, member_clients.OwnClientProvider = Clients, Own
    release, url = os.environ[RELEASE], os.environ[VAULT]
    authorities = {
        name: CertificateAuthority(f"dev-ca-{name}", authority=Authority(name=name, common_name=name), vault_url=url)
        for name in ("etcd", ETCD_CLIENT)
    }
    clients = MemberClients(PLANNED, authorities, vault_url=url)
    ready = {}
    for one in PLANNED:
        if release == OLD:
            made = IssuedCertificate(one.name, certificate=one, authority=authorities[ETCD_CLIENT], vault_url=url)
        else:
            made = clients.declare(one, opts=ResourceOptions())
        ready[one.holder] = Ready(one.holder, release=release, opts=ResourceOptions(depends_on=[made]))
    if release == NEW:
        clients.make_own(ready=ready, opts=ResourceOptions())
