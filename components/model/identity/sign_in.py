"""Issuers in the form that API servers read, and checks of the section ``identity``. Pure.

The issuers are in the vault's secret :data:`~components.model.secrets.vault.ISSUERS`, not in user data, so that a
change of an issuer reaches running API servers, which read a changed file again (kubernetes.io, "Authentication",
"Using Authentication Configuration"). kube-apiserver does not *start* with a configuration that it cannot read. So
these checks refuse everything that kube-apiserver would refuse. The file admits no CEL expressions, because the checks
could not judge them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from clouds.base.faults import Fault, Location
from clouds.base.phrases import suggestion
from components.model.environment import Environment
from components.model.identity.section import ClaimName, Issuer
from components.model.secrets.authority_pem import authority_fault
from contract.azure import SIGN_IN_HOST
from contract.documents import issuers
from contract.documents.revoked import NAME
from contract.users import RESERVED
from contract.vault import LARGEST

MOST_GROUPS = 500
"""Largest number of groups that a person may have. Entra puts at most 200 into a token ("ID token claims reference",
"Groups overage claim"). At each request, each of a user's groups is compared with each binding."""


HOUR_S = 3600

PLACEHOLDERS = ("TENANT", "APPLICATION", "ID")
"""Words in docs/sign-in.md that stand for a company's own values."""
TENANTS_OWN = re.compile(r"/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/v2\.0")
"""Path of the issuer in Entra's tokens: the tenant by its id, whatever address a token was requested from
(learn.microsoft.com, "ID token claims reference", ``iss``). API servers refuse an address whose document names another
issuer, such as the addresses of ``common``, of a tenant's domain, and of v1.0."""
DISCOVERY = "/.well-known/openid-configuration"
"""Path below an issuer's address at which its document is (OpenID Connect Discovery 1.0, section 4)."""
CUT = "…"
"""Mark in docs/sign-in.md for the rest of a group's name."""


def settings(environment: Environment) -> str:
    """Return the content of the issuers' secret."""
    return issuers.to_text([authenticator(issuer) for issuer in environment.identity.issuers.values()])


def authenticator(issuer: Issuer) -> dict[str, Any]:
    """Return a ``JWTAuthenticator`` (k8s.io/apiserver 0.36, pkg/apis/apiserver/v1)."""
    fields: dict[str, Any] = {"url": issuer.url, "audiences": list(issuer.audiences), "audienceMatchPolicy": "MatchAny"}
    if issuer.certificate_authority is not None:
        fields["certificateAuthority"] = issuer.certificate_authority
    mappings = {"username": _mapping(issuer.username)}
    if issuer.groups is not None:
        mappings["groups"] = _mapping(issuer.groups)
    required = [{"claim": claim, "requiredValue": value} for claim, value in issuer.required_claims.items()]
    return {
        "issuer": fields,
        "claimValidationRules": [
            *required,
            {
                "expression": f"claims.exp - claims.iat <= {issuer.token_hours * HOUR_S}",
                "message": f"the token lives longer than {issuer.token_hours} hours",
            },
        ],
        "claimMappings": mappings,
        # Prefixes already prevent what the first two rules refuse. The rules also hold when somebody changes how names
        # are made.
        "userValidationRules": [
            {"expression": "!user.username.startsWith('system:')", "message": "a name of Kubernetes' own"},
            {
                "expression": "user.groups.all(group, !group.startsWith('system:'))",
                "message": "a group of Kubernetes' own",
            },
            {"expression": f"size(user.groups) <= {MOST_GROUPS}", "message": f"more than {MOST_GROUPS} groups"},
            # A name that does not fit into our lists could not be revoked.
            {
                "expression": f"user.username.matches(r'^{NAME}$')",
                "message": "a name whose access could not be revoked",
            },
        ],
    }


def _mapping(name: ClaimName) -> dict[str, str]:
    return {"claim": name.claim, "prefix": name.prefix}


def check_sign_in(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each issuer that API servers would refuse, or whose people could have the names of others."""
    urls: dict[str, str] = {}
    for name, issuer in environment.identity.issuers.items():
        at = ("identity", "issuers", name)
        if issuer.url.rstrip("/") == f"https://{environment.api_name}:{environment.control_plane.api.port}":
            wrong = "it is the cluster's own issuer of service accounts' tokens"
            yield Fault(at=(*at, "url"), wrong=wrong, write="your identity provider's")
        yield from _check_placeholders(issuer, at)
        yield from _check_address(issuer, at)
        earlier = urls.setdefault(issuer.url.rstrip("/"), name)
        if earlier != name:
            wrong = f"{issuer.url!r} is the issuer {earlier} already"
            basis = (("identity", "issuers", earlier, "url"),)
            yield Fault(
                at=(*at, "url"), wrong=wrong, write="each issuer once; it may have several audiences", basis=basis
            )
        for index, audience in enumerate(issuer.audiences):
            if audience in issuer.audiences[:index]:
                yield Fault(at=(*at, "audiences", index), wrong=f"{audience!r} is named before", write="each once")
        if issuer.certificate_authority and (fault := authority_fault(issuer.certificate_authority)):
            write = "the PEM certificates of the authority that signed its server's certificate, and nothing else"
            yield Fault(at=(*at, "certificate_authority"), wrong=f"it {fault}", write=write)
    for part in ("username", "groups"):
        yield from _check_prefixes(environment, part)
    yield from _check_groups(environment)
    length = len(settings(environment))
    if length > LARGEST:
        wrong = f"the issuers have {length} characters, and a vault's secret holds {LARGEST}"
        yield Fault(
            at=("identity", "issuers"), wrong=wrong, write="fewer issuers, or authorities of fewer certificates"
        )


def _check_placeholders(issuer: Issuer, at: Location) -> Iterator[Fault]:
    """Yield a fault for each value that is a placeholder in our documents. API servers would not report that they wait
    for such an issuer: they keep the former list."""
    write = "your own value, from your identity provider"
    if _is_placeholder(issuer):
        yield Fault(at=(*at, "url"), wrong=f"{issuer.url!r} is an example from our documents", write=write)
    for index, audience in enumerate(issuer.audiences):
        if audience in PLACEHOLDERS:
            yield Fault(
                at=(*at, "audiences", index), wrong=f"{audience!r} is a placeholder from our documents", write=write
            )


def _check_address(issuer: Issuer, at: Location) -> Iterator[Fault]:
    """Yield a fault for an address that is not an issuer's: that of its document, or another one of Entra's."""
    parts = urlsplit(issuer.url)
    if parts.path.rstrip("/").endswith(DISCOVERY):
        wrong = "is the address of the issuer's document, which API servers look for below the issuer's own"
        yield Fault(at=(*at, "url"), wrong=wrong, write=issuer.url.rstrip("/").removesuffix(DISCOVERY))
    elif parts.hostname == SIGN_IN_HOST and not TENANTS_OWN.fullmatch(parts.path) and not _is_placeholder(issuer):
        write = f"https://{SIGN_IN_HOST}/, the tenant's id, and /v2.0"
        yield Fault(at=(*at, "url"), wrong=f"{issuer.url!r} is not the issuer that Entra's tokens name", write=write)


def _is_placeholder(issuer: Issuer) -> bool:
    examples = Issuer.model_fields["url"].examples or ()
    return issuer.url in examples or bool({*urlsplit(issuer.url).path.split("/")} & {*PLACEHOLDERS})


def _check_prefixes(environment: Environment, part: str) -> Iterator[Fault]:
    """Yield a fault for each prefix that is in use already. People of one issuer must not be able to have names of
    another's."""
    prefixes: dict[str, str] = {}
    for name, issuer in environment.identity.issuers.items():
        mapping: ClaimName | None = getattr(issuer, part)
        if mapping is None:
            continue
        at = ("identity", "issuers", name, part, "prefix")
        if mapping.prefix in RESERVED:
            wrong = f"{mapping.prefix!r} begins names of the cluster's own, whose rights its people would have"
            yield Fault(at=at, wrong=wrong, write=f"another, such as {name}:")
            continue
        earlier = prefixes.setdefault(mapping.prefix, name)
        if earlier != name:
            wrong = f"{mapping.prefix!r} is already the prefix of {earlier}: its people could have names of that issuer"
            basis = (("identity", "issuers", earlier, part),)
            yield Fault(at=at, wrong=wrong, write=f"another, such as {name}:", basis=basis)


def prefix_fault(environment: Environment, group: str, at: Location) -> Iterator[Fault]:
    """Yield a fault when no issuer can name a group."""
    issuers = environment.identity.issuers
    prefixes = [issuer.groups.prefix for issuer in issuers.values() if issuer.groups is not None]
    prefix = f"{group.partition(':')[0]}:"
    if prefix not in prefixes:
        prefixed = (("identity", "issuers", name, "groups", "prefix") for name in issuers)
        wrong = f"no issuer gives groups the prefix {prefix!r}"
        write = f"a name that begins with {suggestion(prefixes, prefix)}"
        yield Fault(at=at, wrong=wrong, write=write, basis=(("identity", "issuers"), *prefixed))


def _check_groups(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each group that no issuer can name, and for each that has no rights."""
    identity = environment.identity
    exempt = environment.pod_security.exempt_namespaces
    for group, rights in identity.groups.items():
        at = ("identity", "groups", group)
        yield from prefix_fault(environment, group, at)
        for namespace in rights.namespaces:
            if namespace.startswith("kube-"):
                wrong = f"{namespace} is Kubernetes' own: whoever may make pods there controls the cluster"
                yield Fault(at=(*at, "namespaces", namespace), wrong=wrong, write="a namespace of your own")
            elif namespace in exempt and rights.namespaces[namespace] != "view":
                wrong = f"Pod Security does not hold in {namespace}: whoever may make pods there controls every node"
                yield Fault(
                    at=(*at, "namespaces", namespace),
                    wrong=wrong,
                    write="`view`, or another namespace",
                    basis=(("pod_security", "exempt_namespaces"),),
                )
        if group.endswith(CUT):
            yield Fault(at=at, wrong="it is cut off, as in our documents", write="the group's whole name")
        if rights.everywhere is None and not rights.namespaces and not rights.vpn:
            yield Fault(at=at, wrong="it has no rights", write="`everywhere`, `vpn`, or `namespaces` with a role each")
        if rights.vpn and environment.vpn is None:
            wrong = "the environment has no VPN"
            yield Fault(at=(*at, "vpn"), wrong=wrong, write="`vpn` in the environment as well", basis=(("vpn",),))
