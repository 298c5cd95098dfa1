"""Section ``vpn`` of the environment file: machines through which laptops reach the environment."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import Field

from clouds.base.openvpn import PORT
from clouds.base.replaces import Replaces
from clouds.base.section import Range, Section
from contract.vpn import LONGEST_NAME

MACHINES = 2
"""Number of VPN machines: when one fails, laptops go on to the other."""

RIGHT = "/longhaul/vpn"
"""Non-resource URL of the API; a person who has the verb ``get`` on it may connect."""

ANYWHERE = IPv4Network("0.0.0.0/0")

OPERATOR = "longhaul:operator:"
"""Prefix of the names of operators, who sign their own certificates with the authority's key in the vault. No
person's name begins with it: VPN machines refuse tokens with such names (:data:`contract.users.RESERVED`)."""

_UNFIT = re.compile(r"[^!#%-+\--\[\]-_a-~]")
"""Characters that names in the list of revoked people cannot contain (contract/documents/revoked.py)."""


class Vpn(Section):
    """Two machines beside the control plane. Laptops reach nodes, pods and Services of every site through them, by
    the addresses that these have in the cluster."""

    machine_type: Annotated[str, Replaces.ROLE] = Field(examples=["Standard_D2s_v5"])
    """Machine type of both machines. OpenVPN encrypts on one processor, so two processors are enough."""
    name: Annotated[str | None, Replaces.STATE] = Field(
        default=None,
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$",
        max_length=253,
        examples=["vpn.example.com"],
        json_schema_extra={"patternErrorMessage": "a DNS name of two labels or more, in lower case"},
    )
    """Public DNS name that you point to both machines' addresses, which are in the stack's output `vpn_addresses`. If
    left out, laptops use the addresses themselves."""
    sources: Annotated[tuple[Range, ...], Replaces.STATE] = Field(default=(ANYWHERE,), min_length=1, max_length=64)
    """Public ranges from which laptops may connect and sign in; private ranges are refused. If left out, the whole
    internet, since people travel. OpenVPN does not answer a laptop that has neither a token nor a certificate, and the
    sign-in endpoint refuses it."""


def remotes(name: str | None, addresses: Sequence[str]) -> str:
    """Return the addresses at which laptops find the VPN machines, as JSON: the file's ``name``, if it has one, and the
    machines' addresses."""
    named = [name] if name else []
    return json.dumps([{"address": address, "port": PORT} for address in (*named, *addresses)])


def operator_name(asking: str) -> str:
    """Return the name in an operator's certificate. A name that is too long for the certificate, or has characters that
    the list of revoked people cannot contain, is changed to fit, and ends with a digest of the original."""
    fit, most = _UNFIT.sub("_", asking), LONGEST_NAME - len(OPERATOR)
    if fit != asking or len(fit) > most:
        digest = hashlib.sha256(asking.encode()).hexdigest()[:8]
        fit = f"{fit[: most - len(digest) - 1]}-{digest}"
    return OPERATOR + fit
