"""Identities for the cluster's API: certificates that are made on demand and are valid for hours, and the break-glass
certificate in the vault. Read access to the vault's secrets decides who can have which identity
(docs/certificates.md)."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from components.model.secrets.certificates import (
    ADMINISTRATORS,
    ADMINISTRATORS_GROUP,
    BREAK_GLASS,
    KUBERNETES,
    MASTERS_GROUP,
    Authority,
)
from contract.lifetimes import ADMINISTRATOR_HOURS
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.control_plane.issuing import Pair, Subject
    from components.model import Environment
    from contract.kubernetes.api import Renew

NAME_LENGTH = 64
"""Maximum length of a common name (RFC 5280, ``ub-common-name``)."""

AGAIN_S = 300.0
"""Seconds until a failed renewal is tried again."""

PARTS = ("certificate", "key", "issuer")
"""Parts of an identity, PEM. ``issuer`` is the authority of the API servers' server certificates."""


def fetch_identity(
    environment: Environment, *, master: bool = False, kept: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Make an administrator's certificate for the caller, and return it with its key and issuer; or return ``kept`` if
    a new one would have the same content and ``kept`` is not due for renewal.

    ``master`` is for ``longhaul up``, which declares the administrators' rights and so cannot depend on them. The API
    servers' authority signs a ``master``'s certificate; administrators cannot read the key of this authority. Raise
    ``CommandError`` when the vault does not return the secrets.
    """
    from components.control_plane import issuing

    name, group = (KUBERNETES, MASTERS_GROUP) if master else (ADMINISTRATORS, ADMINISTRATORS_GROUP)
    source = Authority(name=name, common_name="")
    authority = issuing.Pair(**read_secret_parts(environment, source.secret, ("certificate", "key")))
    issuer = read_secret(environment, Authority(name=KUBERNETES, common_name="").trust_secret)
    subject = issuing.Subject(
        common_name=caller_name(environment),
        organizations=[group],
        usages=["client"],
        days=ADMINISTRATOR_HOURS / 24,
    )
    if kept is not None and kept["issuer"] == issuer and _serves(kept["certificate"], subject, authority):
        return dict(kept)
    pair = issuing.issue(subject, authority=authority)
    return {"certificate": pair.certificate, "key": pair.key, "issuer": issuer}


def identity_renewer(environment: Environment, *, clock: Callable[[], float] = time.monotonic) -> Renew:
    """Return a function that keeps an administrator's identity valid in a program that may run for days. When the
    vault does not answer, the old certificate is used until it expires, and the vault is asked again after
    :data:`AGAIN_S`."""
    from components.control_plane import issuing

    again = clock()

    def renew(identity: Mapping[str, str]) -> Mapping[str, str] | None:
        nonlocal again
        if clock() < again or not issuing.due(identity["certificate"], now=datetime.now(UTC)):
            return None
        again = clock() + AGAIN_S
        try:
            return fetch_identity(environment)
        except CommandError as error:
            say(f"the certificate for the cluster's API is not renewed yet: {error}")
            return None

    return renew


def fetch_break_glass(environment: Environment) -> dict[str, str]:
    """Return the break-glass certificate, key and issuer from the vault, for the case that no access rights are left.
    Raise ``CommandError`` when the vault does not return them."""
    return read_secret_parts(environment, BREAK_GLASS, PARTS)


def read_secret_parts(environment: Environment, name: str, keys: tuple[str, ...]) -> dict[str, str]:
    """Return values of a secret that is a JSON mapping."""
    try:
        secret = json.loads(read_secret(environment, name))
        return {key: str(secret[key]) for key in keys}
    except (ValueError, KeyError, TypeError):
        message = f"the secret {name} in the vault of {environment.name} is not what `longhaul up` writes"
        raise CommandError(message) from None


def read_secret(environment: Environment, name: str) -> str:
    """Return a secret from the vault. Raise ``CommandError`` when the vault does not return it."""
    from clouds.base.errors import CloudError
    from components.model.secrets.vault import vault_name
    from longhaul.vault.record import unreadable_error

    env = environment.name
    place, control = control_access(environment)
    try:
        value: str | None = control.secret(place, vault_name(environment), name)
    except CloudError as error:
        raise unreadable_error(environment, f"the vault of {env}", error) from None
    if value is None:
        raise CommandError(f"the vault of {env} has no {name} yet: `longhaul up --env {env}` makes it")
    return value


def control_access(environment: Environment) -> tuple[Any, Any]:
    """Return the control plane's place, and its cloud's access to the vault. Raise ``CommandError`` when the cloud has
    none."""
    from clouds.registry import cloud_of
    from components.model.sites.places import place_of

    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        message = f"there is no way yet to read the administrator's credentials of a control plane on {place.site.kind}"
        raise CommandError(message, code=Exit.UNREACHABLE)
    return place, control


def caller_name(environment: Environment) -> str:
    """Return the caller's name for the audit log: the cloud identity that the vault accepted, or else the user of the
    operating system."""
    place, control = control_access(environment)
    signed_in = str(control.signed_in(place))
    return (signed_in or f"{_user()}@{socket.gethostname()}")[:NAME_LENGTH]


def _user() -> str:
    # The user has no entry: KeyError before Python 3.13, OSError since.
    with suppress(KeyError, OSError):
        return getpass.getuser()
    return str(os.getuid())


def _serves(certificate: str, subject: Subject, authority: Pair) -> bool:
    """Return whether a certificate is from this authority, has this subject, and is not due for renewal."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    from components.control_plane import issuing

    if not issuing.is_issued_by(certificate, authority.certificate):
        return False
    parsed = x509.load_pem_x509_certificate(certificate.encode())
    actual = {(attribute.oid, attribute.value) for attribute in parsed.subject}
    wanted = {(NameOID.ORGANIZATION_NAME, name) for name in subject.organizations}
    wanted |= {(NameOID.COMMON_NAME, subject.common_name)}
    return actual == wanted and not issuing.due(certificate, now=datetime.now(UTC))
