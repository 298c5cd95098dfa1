"""Admission of an operator to the laptops' VPN from the environment's vault, even before anybody can sign in, and while
no API server answers. Read access to the authority's key decides who gets an admission (docs/vpn.md)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from components.model.secrets.certificates import VPN, Authority, vpn_name
from components.model.secrets.vault import VPN_KEY, VPN_REMOTES
from components.model.vpn.section import operator_name
from contract.lifetimes import VPN_CERTIFICATE_HOURS
from contract.vpn import MARK
from longhaul.client.vpn.admission import Admission, parse
from longhaul.cluster.identity import caller_name, read_secret, read_secret_parts
from longhaul.cluster.profile import inside_of
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.client.vpn.session import Source


def from_vault(environment: Environment) -> Source:
    """Return a source of admissions. It asks the vault each time, so a person who has lost access to the key gets no
    further admission. Raise ``CommandError`` for an environment without a VPN."""
    if environment.vpn is None:
        raise CommandError(
            f"{environment.name} has no VPN: declare `vpn` in its file, and run `longhaul up --env {environment.name}` "
            "(docs/vpn.md)",
            code=Exit.USAGE,
        )

    def source(request: str, may_ask: bool) -> Admission:
        name, admission = admit(environment, request)
        if may_ask:
            say(f"{environment.name}: this machine's name at the VPN machines is {name}")
        return admission

    return source


def admit(environment: Environment, request: str) -> tuple[str, Admission]:
    """Return the caller's name, and an admission for the key in a request; the rest of the request is ignored. Raise
    ``CommandError`` when the vault does not return the secrets."""
    from components.control_plane import issuing

    source = Authority(name=VPN, common_name="")
    authority = issuing.Pair(**read_secret_parts(environment, source.secret, ("certificate", "key")))
    name = operator_name(caller_name(environment))
    try:
        key = issuing.requested_key(request)
        subject = issuing.Subject(
            common_name=name,
            user_id=issuing.fingerprint(key)[:MARK],
            usages=["client"],
            days=VPN_CERTIFICATE_HOURS / 24,
        )
        certificate = issuing.sign(subject, key, authority=authority)
        reply = {
            "certificate": certificate,
            "authority": read_secret(environment, source.trust_secret),
            "lasts_s": VPN_CERTIFICATE_HOURS * 3600,
            "tls_crypt": read_secret(environment, VPN_KEY),
            "remotes": json.loads(read_secret(environment, VPN_REMOTES)),
        }
        return name, parse(reply, name=vpn_name(environment), inside=inside_of(environment))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CommandError(
            f"the VPN's secrets in the vault of {environment.name} are not those that `longhaul up` writes: `longhaul "
            f"up --env {environment.name} --only infrastructure` writes them again"
        ) from None
