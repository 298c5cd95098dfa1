"""Profile of an environment for people who sign in."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from components.model import plan
from components.model.secrets.certificates import KUBERNETES, VPN, Authority, vpn_name
from components.model.secrets.vault import VPN_REMOTES
from contract.lifetimes import PROFILE_DAYS
from contract.object_names import CLUSTER_DOMAIN
from longhaul.client.files import config_folder
from longhaul.client.options import KEPT, refuse_changed
from longhaul.client.profile import Inside, Profile, ProfileIssuer, ProfileVpn
from longhaul.cluster.identity import read_secret
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment


def profile_of(environment: Environment, *, lab_port: int | None, now: datetime) -> Profile:
    """Return the profile, with the API servers' authority from the vault. Raise ``CommandError`` when the vault does
    not return the authority, or when the environment has no issuers. ``lab_port`` is the loopback port of a lab's API,
    None for clouds."""
    issuers = environment.identity.issuers
    if not issuers:
        raise CommandError(
            f"{environment.name} has no issuers, so nobody can sign in: declare them as `identity` in its file "
            "(docs/sign-in.md); an administrator uses `longhaul kubeconfig`",
            code=Exit.USAGE,
        )
    name, port = environment.api_name, environment.control_plane.api.port
    return Profile(
        name=environment.name,
        server=f"https://{name}:{port}" if lab_port is None else f"https://127.0.0.1:{lab_port}",
        server_name="" if lab_port is None else name,
        authority=read_secret(environment, Authority(name=KUBERNETES, common_name="").trust_secret),
        issuers={
            key: ProfileIssuer(
                url=issuer.url,
                client_id=issuer.client,
                scopes=issuer.scopes,
                certificate_authority=issuer.certificate_authority or "",
            )
            for key, issuer in issuers.items()
        },
        expires=(now + timedelta(days=PROFILE_DAYS)).isoformat(timespec="seconds"),
        vpn=_vpn(environment) if environment.vpn else None,
    )


def inside_of(environment: Environment) -> Inside:
    """Return the part of the network inside the VPN, according to the environment's file."""
    addresses = plan(environment)
    return Inside(
        range=str(addresses.supernet), dns=str(addresses.dns_service), zones=(environment.domain, CLUSTER_DOMAIN)
    )


def _vpn(environment: Environment) -> ProfileVpn:
    """Return the VPN's endpoints and authority, as the vault stores them."""
    remotes = json.loads(read_secret(environment, VPN_REMOTES))
    return ProfileVpn(
        endpoints=tuple(f"https://{remote['address']}" for remote in remotes),
        authority=read_secret(environment, Authority(name=VPN, common_name="").trust_secret),
        name=vpn_name(environment),
        inside=inside_of(environment),
    )


def profile_and_folder(invocation: Invocation) -> tuple[Profile, Path]:
    """Return the profile that ``--profile`` names, or else the environment's profile, and the folder for the profile's
    files."""
    if invocation.options.profile is not None:
        from longhaul.client.profile import read_profile

        profile = read_profile(invocation.options.profile)
        folder = config_folder(profile.name)
        refuse_changed(profile, folder / KEPT, replace=invocation.options.replace)
        return profile, folder
    from datetime import UTC, datetime

    from longhaul.project.context import context, enter_lab

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    lab = where.lab_with_port
    port = lab.port() if lab else None
    folder = lab.folder if lab else config_folder(where.env)
    return profile_of(environment, lab_port=port, now=datetime.now(UTC)), folder
