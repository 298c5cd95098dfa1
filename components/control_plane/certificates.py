"""Authorities and certificates as Pulumi resources.

Each resource makes its key and writes it to the vault. Pulumi's state has only the certificate and the key's place. A
preview compares only values of the state, so it needs no access to the vault. Renewal is an update. It happens when
less than a third of a certificate's life is left, or when its content should change.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from datetime import UTC, datetime

import pulumi
from pulumi import Output, ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from clouds.base.control import Vault
from clouds.registry import vault_at
from components.control_plane import issuing
from components.control_plane.secrets import Properties, VaultEntryProvider, changed, one_at_a_time
from components.model import Authority, Certificate
from components.model.secrets.encryption_keys import RotationPhase
from components.model.secrets.rotations import READ_VARIABLE, STEADY, parse_progress, rotation_of
from components.model.secrets.vault import ROTATIONS


class _RenewedProvider(VaultEntryProvider):
    """Base of both providers: changed inputs make an update."""

    inputs: tuple[str, ...]

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Report changed inputs or an approaching expiry as an update in place; another vault or name as a
        replacement."""
        differing = changed(self.inputs, olds, news)
        replaces = [name for name in differing if name in self.identity]
        due = issuing.due(olds["certificate"], now=datetime.now(UTC))
        return DiffResult(changes=bool(differing) or due, replaces=replaces)

    def update(self, _id: str, _olds: Properties, news: Properties) -> UpdateResult:
        """Issue the authority or certificate again, under the same name."""
        return UpdateResult(outs=self.make(news))

    def make(self, props: Properties) -> Properties:
        """Issue the authority or certificate, write it to the vault, and return its properties for the state."""
        raise NotImplementedError


class AuthorityProvider(_RenewedProvider):
    """Makes authorities. It adopts an authority that a killed run left in the vault, because that authority may have
    signed certificates."""

    inputs = ("vault_url", "secret", "trust_secret", "common_name", "days")

    def diff(self, id_: str, olds: Properties, news: Properties) -> DiffResult:
        """Also report a change of the trusted authorities as an update, if a rotation has set ``READ_VARIABLE``."""
        difference = super().diff(id_, olds, news)
        if difference.changes or not os.environ.get(READ_VARIABLE):
            return difference
        return DiffResult(changes=olds["certificate"] != _stored(news)["certificate"], replaces=[])

    def update(self, id_: str, olds: Properties, news: Properties) -> UpdateResult:
        """Renew the certificate. If only the trusted authorities changed, read them from the vault instead."""
        renewed = super().diff(id_, olds, news).changes or not os.environ.get(READ_VARIABLE)
        return UpdateResult(outs=self.make(news) if renewed else _stored(news))

    def create(self, props: Properties) -> CreateResult:
        """Adopt or make the authority."""
        vault = vault_at(props["vault_url"])
        left = vault.get(props["secret"])
        outs = self._publish(vault, props, json.loads(left)) if left else self.make(props)
        return CreateResult(id_=props["secret"], outs=outs)

    def make(self, props: Properties) -> Properties:
        """Make a certificate for the key in the vault, or for a new key. A renewed authority has the same key and name:
        certificates that it signed before stay valid, and programs that trust the old certificate trust new leaf
        certificates."""
        vault = vault_at(props["vault_url"])
        left = vault.get(props["secret"])
        key = json.loads(left)["key"] if left else issuing.new_key()
        pair = issuing.new_authority(common_name=props["common_name"], days=props["days"], key=key)
        value = {"certificate": pair.certificate, "key": pair.key}
        vault.set(props["secret"], json.dumps(value), content_type="application/json")
        return self._publish(vault, props, value)

    def _publish(self, vault: Vault, props: Properties, value: dict[str, str]) -> Properties:
        certificate = value["certificate"]
        others = _others(vault, props, certificate) if _rotates(vault, props["secret"]) else ""
        vault.set(props["trust_secret"], certificate + others, content_type="application/x-pem-file")
        return _state(props, certificate, others)

    def delete(self, _id: str, props: Properties) -> None:
        """Delete key and certificate from the vault."""
        super().delete(_id, props)
        vault_at(props["vault_url"]).delete(props["trust_secret"])


class CertificateProvider(_RenewedProvider):
    """Issues certificates from an authority in the same vault."""

    inputs = (
        "vault_url",
        "secret",
        "authority_secret",
        "authority_fingerprint",
        "common_name",
        "organizations",
        "dns_names",
        "addresses",
        "usages",
        "days",
    )

    def create(self, props: Properties) -> CreateResult:
        """Issue a certificate; it replaces a certificate that a killed run left."""
        return CreateResult(id_=props["secret"], outs=self.make(props))

    def make(self, props: Properties) -> Properties:
        """Make a new key and certificate, and write them to the vault with the issuer. Raise ``RuntimeError`` when the
        vault lacks the authority."""
        vault = vault_at(props["vault_url"])
        stored = vault.get(props["authority_secret"])
        if stored is None:
            raise RuntimeError(
                f"{props['secret']}: the vault has no {props['authority_secret']}; docs/certificates.md says how to "
                "make an authority anew"
            )
        authority = issuing.Pair(**json.loads(stored))
        pair = issuing.issue(_subject(props), authority=authority)
        vault.set(props["secret"], issuing.secret_value(pair, authority), content_type="application/json")
        return {**props, "certificate": pair.certificate, "not_after": issuing.expiry(pair.certificate)}


def _state(props: Properties, certificate: str, others: str) -> Properties:
    """Return an authority's properties for the state, with the certificates of ``others`` that are trusted beside
    it."""
    return {**props, "certificate": certificate + others, "fingerprint": issuing.key_fingerprint(certificate)}


def _stored(props: Properties) -> Properties:
    """Return an authority's properties for the state, read from the vault. Raise ``RuntimeError`` when the vault lacks
    it."""
    vault = vault_at(props["vault_url"])
    certificate = json.loads(vault.get(props["secret"]) or "{}").get("certificate")
    if not certificate:
        raise RuntimeError(
            f"the vault has no {props['secret']}; docs/certificates.md says how to make an authority anew"
        )
    return _state(props, certificate, _others(vault, props, certificate))


def _rotates(vault: Vault, secret: str) -> bool:
    """Return whether a second authority is trusted beside the one in ``secret`` at present."""
    standing = parse_progress(vault.get(ROTATIONS) or "{}").get(rotation_of(secret), STEADY)
    return standing.phase in (RotationPhase.TRUST, RotationPhase.USE)


def _others(vault: Vault, props: Properties, certificate: str) -> str:
    """Return the certificates that are trusted beside this one; a rotation puts them there (docs/rotation.md)."""
    fingerprint = issuing.key_fingerprint(certificate)
    believed = issuing.certificates_in(vault.get(props["trust_secret"]) or "")
    return "".join(pem for pem in believed if issuing.key_fingerprint(pem) != fingerprint)


def _subject(props: Properties) -> issuing.Subject:
    return issuing.Subject(
        common_name=props["common_name"],
        organizations=props["organizations"],
        dns_names=props["dns_names"],
        addresses=props["addresses"],
        usages=props["usages"],
        days=props["days"],
    )


class CertificateAuthority(Resource, module="longhaul", name="CertificateAuthority"):
    """A certificate authority whose key is in the vault."""

    secret: Output[str]
    """Name of the secret that holds the key."""
    certificate: Output[str]
    """The certificate in PEM, followed by the certificates that are trusted beside it during a rotation."""
    fingerprint: Output[str]
    """SHA-256 of the authority's public key. A renewal keeps the key."""

    def __init__(
        self,
        name: str,
        *,
        authority: Authority,
        vault_url: pulumi.Input[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        properties = {
            "vault_url": vault_url,
            "secret": authority.secret,
            "trust_secret": authority.trust_secret,
            "common_name": authority.common_name,
            "days": authority.days,
            "certificate": None,
            "fingerprint": None,
        }
        super().__init__(AuthorityProvider(), name, properties, one_at_a_time(opts))


class IssuedCertificate(Resource, module="longhaul", name="Certificate"):
    """A certificate whose key is in the vault, for its holder to fetch."""

    certificate: Output[str]
    """The certificate, PEM."""
    not_after: Output[str]
    """Expiry time, ISO 8601."""

    def __init__(
        self,
        name: str,
        *,
        certificate: Certificate,
        authority: CertificateAuthority,
        vault_url: pulumi.Input[str],
        opts: ResourceOptions | None = None,
    ) -> None:
        properties = {
            "vault_url": vault_url,
            "secret": certificate.name,
            "authority_secret": authority.secret,
            "authority_fingerprint": authority.fingerprint,
            **asdict(issuing.subject_of(certificate)),
            "certificate": None,
            "not_after": None,
        }
        super().__init__(CertificateProvider(), name, properties, one_at_a_time(opts))
