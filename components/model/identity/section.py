"""Section ``identity`` of the environment file: issuers whose tokens people sign in with, and the rights of their
groups."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from clouds.base.section import LeftOut, Name, Section
from components.model.identity.namespaces import Namespace
from contract.lifetimes import SIGN_IN_TOKEN_HOURS

MOST_ISSUERS = 8
HTTPS = 443

Claim = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,127}$",
        json_schema_extra={"patternErrorMessage": "the name of a claim, such as `sub` or `groups`"},
    ),
]
"""Name of a claim in a token."""

Prefix = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9-]{0,30}:$",
        json_schema_extra={"patternErrorMessage": "lower-case letters, digits and hyphens with a colon at the end"},
    ),
]
"""Prefix of all names of one kind from one issuer. It ends with a colon, so no prefix is the beginning of another."""

Word = Annotated[
    str,
    Field(
        pattern=r"^[!#-\[\]-~]{1,256}$",
        json_schema_extra={"patternErrorMessage": 'printable ASCII characters without spaces, `"` and `\\`'},
    ),
]
"""An audience, a scope, or the value of a claim."""

GroupName = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9-]{0,30}:[^\x00-\x1f\x7f]{1,256}$",
        json_schema_extra={
            "patternErrorMessage": "a group's prefix and its name in the token, such as `oidc:platform`"
        },
    ),
]
"""Name of a group as Kubernetes knows it."""


class ClaimName(Section):
    """A claim from which names are made."""

    claim: Claim = Field(examples=["sub"])
    """Name of the claim. Choose one that the issuer never gives to another person: `sub`, or Entra's `oid`."""
    prefix: Prefix = Field(examples=["oidc:"])
    """Text before each name, so that nobody can have the name of a part of the cluster, or of another issuer's
    people."""


class Issuer(Section):
    """A company's identity provider that speaks OpenID Connect."""

    url: str = Field(
        pattern=r"^https://[a-z0-9.-]+(:([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?(/[A-Za-z0-9._~/-]*)?$",
        max_length=512,
        examples=["https://login.microsoftonline.com/00000000-0000-4000-8000-000000000002/v2.0"],
        json_schema_extra={"patternErrorMessage": "an https:// URL without user, query and fragment"},
    )
    """URL of the issuer, exactly as `iss` of its tokens has it. API servers fetch `/.well-known/openid-configuration`
    below it, and its keys."""
    audiences: tuple[Word, ...] = Field(min_length=1, max_length=16, examples=[["longhaul"]])
    """Ids of the applications that were registered for the cluster. A token must have one of them as `aud`."""
    client_id: Word | None = Field(default=None, examples=["longhaul"])
    """Id of the public client that `longhaul login` signs in as. If left out, the first of `audiences`."""
    scopes: tuple[Word, ...] = Field(
        default=("openid", "profile", "email", "offline_access"), min_length=1, max_length=16
    )
    """Scopes that `longhaul login` requests. Without `offline_access`, people sign in again whenever a token
    expires."""
    username: ClaimName
    """The claim that names a person."""
    groups: LeftOut[ClaimName] = None
    """The claim that lists a person's groups. If left out, nobody has groups."""
    certificate_authority: str | None = Field(
        default=None,
        pattern=r"^-----BEGIN CERTIFICATE-----\n[\s\S]*-----END CERTIFICATE-----\n?$",
        max_length=16_384,
        examples=["-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"],
        json_schema_extra={"patternErrorMessage": "certificates in PEM and nothing else"},
    )
    """Certificates (PEM) of the authority that signs for the issuer's server. If left out, API servers trust the
    authorities of their operating system."""
    required_claims: dict[Claim, Word] = Field(
        default_factory=dict, max_length=16, examples=[{"tid": "00000000-0000-4000-8000-000000000002"}]
    )
    """Claims that a token must have, each with exactly this text."""
    token_hours: int = Field(default=SIGN_IN_TOKEN_HOURS, ge=1, le=SIGN_IN_TOKEN_HOURS)
    """Longest lifetime of a token, in hours. A token with a longer lifetime is refused, since nobody can revoke it."""

    @property
    def client(self) -> str:
        """Id of the client that people sign in as."""
        return self.client_id or self.audiences[0]


Role = Literal["view", "edit", "admin"]
"""Kubernetes' own roles for people (kubernetes.io, "Using RBAC Authorization", "User-facing roles")."""


class GroupRights(Section):
    """Rights of a group of people."""

    everywhere: Literal["view", "cluster-admin"] | None = None
    """Role in the whole cluster. `cluster-admin` has every right, like an administrator's certificate. There is no
    `edit` in between: whoever makes pods in `kube-system` controls the cluster."""
    namespaces: dict[Namespace, Role] = Field(default_factory=dict, max_length=256, examples=[{"research": "edit"}])
    """Role in each namespace. Namespaces that do not exist are made, and stay when they are removed from the file;
    those that begin with `kube-` are refused, and with `edit` or `admin` those with the name of a top-level domain."""
    vpn: bool = False
    """True when the people of the group may connect their laptops to the environment's `vpn`. From there they reach
    every node, pod and Service, whatever their other roles are. A `cluster-admin` may connect without it."""


class Identity(Section):
    """Sign-in of people by a company's own identity provider."""

    issuers: dict[Name, Issuer] = Field(default_factory=dict, max_length=MOST_ISSUERS)
    """Issuers by name. If left out, nobody signs in, and administrators have certificates. `up` writes the issuers into
    the vault and has the API servers fetch them; nothing is restarted."""
    groups: dict[GroupName, GroupRights] = Field(
        default_factory=dict, max_length=256, examples=[{"oidc:platform": {"everywhere": "view"}}]
    )
    """Rights of groups, by the group's name with its prefix. People who are in none of them have no rights."""

    @property
    def ports(self) -> tuple[str, ...]:
        """Ports of the issuers, each once, in order."""
        numbers = {urlsplit(issuer.url).port or HTTPS for issuer in self.issuers.values()}
        return tuple(map(str, sorted(numbers)))
