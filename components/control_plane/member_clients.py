"""Client certificates of etcd members. Each is of its own etcd cluster's authority and opens no other.

In 0.1.0 they were of the API servers' authority, so that each opened both etcd clusters. A member that trusts the
authority of its own etcd cluster is a new machine, and these are made one at a time; those that are not made yet know
the former authority alone. So in an environment from then:

1. certificates stay of the former authority, and new machines, which trust both, come with them;
2. once every machine of the etcd cluster is ready, :class:`OwnClient` issues them from the etcd cluster's authority.

A run that breaks off in between leaves certificates that everybody trusts, and the next goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from clouds.azure.api import Vault
from components.control_plane import issuing
from components.control_plane.certificates import (
    CertificateAuthority,
    CertificateProvider,
    IssuedCertificate,
    certificate_inputs,
)
from components.control_plane.secrets import Properties, changed
from components.model import Certificate

ISSUER = ("authority_secret", "authority_fingerprint")


class MemberClientProvider(CertificateProvider):
    """Issues members' client certificates, from the former authority where the etcd cluster may know no other yet."""

    def make(self, props: Properties) -> Properties:
        """Issue one."""
        if not _is_former(props):
            return super().make(props)
        return {**props, **_issued(super().make({**props, "authority_secret": props["former_authority_secret"]}))}

    def update(self, _id: str, olds: Properties, news: Properties) -> UpdateResult:
        """Make it anew, unless only the authority is another and the former one is still needed."""
        subject = [name for name in self.inputs if name not in ISSUER]
        due = issuing.due(olds["certificate"], now=datetime.now(UTC))
        if not due and not changed(subject, olds, news) and _is_former(news):
            return UpdateResult(outs={**news, **_issued(olds)})
        return UpdateResult(outs=self.make(news))


def _issued(state: Properties) -> Properties:
    return {name: state[name] for name in ("certificate", "not_after")}


def _is_former(props: Properties) -> bool:
    """Return whether the certificate has to be of the former authority: its present one is or, where there is none,
    that of the first member, in the place of any."""
    vault = Vault(props["vault_url"])
    former = vault.get(props["former_authority_secret"])
    present = _issuer(vault, props["secret"]) or _issuer(vault, props["first_client"])
    return former is not None and present == issuing.key_fingerprint(json.loads(former)["certificate"])


def _issuer(vault: Vault, secret: str) -> str:
    """Return the fingerprint of the key that issued a certificate of the vault; empty when there is none."""
    stored = vault.get(secret)
    return issuing.key_fingerprint(json.loads(stored)["issuer"]) if stored else ""


class OwnClientProvider(ResourceProvider):
    """Has a client certificate issued by the authority of its own etcd cluster, unless it is."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Issue it where the vault has one of another authority."""
        if _issuer(Vault(props["vault_url"]), props["secret"]) != props["authority_fingerprint"]:
            CertificateProvider().make(props)
        return CreateResult(id_=props["secret"], outs={name: props[name] for name in ("vault_url", "secret")})

    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        """Report no changes: from now on the certificate itself is renewed from that authority."""
        return DiffResult(changes=False, replaces=[])


class OwnClient(Resource, module="longhaul", name="OwnClient"):
    """Exists once a member's client certificate is of its own etcd cluster's authority."""

    def __init__(
        self,
        name: str,
        *,
        certificate: Certificate,
        authority: CertificateAuthority,
        vault_url: pulumi.Input[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        properties = certificate_inputs(certificate, authority, vault_url=vault_url)
        super().__init__(OwnClientProvider(), name, properties, opts)


class MemberClients:
    """The client certificates of an environment's etcd members."""

    def __init__(
        self,
        planned: Iterable[Certificate],
        authorities: Mapping[str, CertificateAuthority],
        *,
        vault_url: pulumi.Input[str],
    ) -> None:
        """``planned``: all certificates; ``authorities``: all authorities, by name."""
        self._planned = [one for one in planned if one.formerly]
        self._authorities, self._vault_url = authorities, vault_url

    def declare(self, certificate: Certificate, *, opts: ResourceOptions) -> IssuedCertificate:
        """Declare one; its machine comes after it."""
        return IssuedCertificate(
            certificate.name,
            certificate=certificate,
            authority=self._authorities[certificate.authority],
            vault_url=self._vault_url,
            provider=MemberClientProvider(),
            more={
                "former_authority_secret": self._authorities[certificate.formerly or certificate.authority].secret,
                "first_client": self._alike(certificate)[0].name,
            },
            opts=opts,
        )

    def make_own(self, *, ready: Mapping[str, Resource], opts: ResourceOptions) -> None:
        """Leave none of the former authority once all machines of its etcd cluster are ready; ``ready``: the readiness
        of each machine."""
        for certificate in self._planned:
            after = [ready[one.holder] for one in self._alike(certificate)]
            OwnClient(
                f"{certificate.name}-own",
                certificate=certificate,
                authority=self._authorities[certificate.authority],
                vault_url=self._vault_url,
                opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=after)),
            )

    def _alike(self, certificate: Certificate) -> list[Certificate]:
        """Return those of the same etcd cluster, in the order of its members."""
        return [one for one in self._planned if one.authority == certificate.authority]
