"""The command ``longhaul vpn``, which connects this machine to an environment's nodes, pods and Services."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client.options import PROFILE, add_sign_in, profile_of
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from longhaul.client.profile import Profile
    from longhaul.client.vpn.admission import Admission
    from longhaul.client.vpn.session import Source

HELP = "connect this machine to the environment by its VPN, until Ctrl-C; needs openvpn"
LEFT_S = 600.0
"""Minimum remaining lifetime of a stored token in seconds. Below this lifetime, a fresh token of any lifetime takes the
stored token's place. The certificate ends with the token."""


def add_arguments(parser: argparse.ArgumentParser, *, profile: str = PROFILE) -> None:
    """Add the options of ``vpn``. ``profile`` is the help text of ``--profile``."""
    add_sign_in(parser, profile=profile)
    parser.add_argument(
        "--write-only",
        action="store_true",
        help="write a configuration file for another OpenVPN program, print its path, and do not connect",
    )
    parser.add_argument("--json", action="store_true", help="with --write-only: print path, end and zones as JSON")


def run(options: argparse.Namespace) -> None:
    """Connect with the profile that ``--profile`` names, or else with the only stored profile."""
    profile = profile_of(options)
    connect(profile.name, signed_in_admissions(profile, options), options)


def connect(name: str, source: Source, options: argparse.Namespace) -> None:
    """Connect with admissions from ``source``. With ``--write-only``, write a configuration file and do not connect."""
    from longhaul.client.signals import exiting_on_signals
    from longhaul.client.vpn import session

    if options.json and not options.write_only:
        raise CommandError("--json goes with --write-only: a connection has nothing to print", code=Exit.USAGE)
    if not options.write_only:
        with exiting_on_signals():
            session.run(name, source)
        return
    path, admission = _write(name, source)
    document = {"path": str(path), "expires": admission.expires.isoformat(), "zones": list(admission.inside.zones)}
    print(json.dumps(document) if options.json else path)


def signed_in_admissions(profile: Profile, options: argparse.Namespace) -> Source:
    """Return a source of admissions that uses the tokens of the person who signs in. Raise ``CommandError`` if the
    profile names no VPN."""
    vpn, issuer = profile.vpn, profile.issuer(options.issuer)
    if vpn is None:
        raise CommandError(
            f"the profile of {profile.name} names no VPN: ask the environment's operator whether it has a VPN, and "
            "for a new profile (`longhaul access profile`)"
        )

    def source(request: str, may_ask: bool) -> Admission:
        from longhaul.client.sign_in import token_of
        from longhaul.client.vpn import endpoint

        tokens = token_of(issuer, profile.place(), device=options.device, may_ask=may_ask, left_s=LEFT_S)
        return endpoint.admission(vpn, token=tokens.id_token, request=request)

    return source


def _write(name: str, source: Source) -> tuple[Path, Admission]:
    from longhaul.client.files import write_private
    from longhaul.client.vpn import key, openvpn_file, session
    from longhaul.terminal.say import say

    private_key = key.new_key()
    admission = source(key.request(private_key), True)
    path = session.folder_of(name) / f"{name}.ovpn"
    write_private(path, openvpn_file.single_file(admission, private_key))
    minutes = (admission.expires - datetime.now(UTC)).total_seconds() / 60
    say(f"it is valid for {minutes:.0f} minutes; then write another")
    return path, admission
