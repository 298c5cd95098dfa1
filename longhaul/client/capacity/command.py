"""``longhaul capacity`` of the client: uses the token of the person who signed in."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from longhaul.client.capacity.show import HELP, add_options, show
from longhaul.client.options import PROFILE, add_sign_in, profile_of

if TYPE_CHECKING:
    from contract.kubernetes.api import ApiReader
    from longhaul.client.profile import Profile

__all__ = ["HELP", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``capacity``."""
    add_sign_in(parser, profile=PROFILE)
    add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Show what the person may see."""
    show(api_of(profile_of(options), options), options)


def api_of(profile: Profile, options: argparse.Namespace) -> ApiReader:
    """Return the API of a profile's cluster with the person's token, which is renewed as long as possible."""
    import ssl
    from urllib.parse import urlsplit

    from contract.kubernetes.api import ApiReader
    from contract.kubernetes.connection import ClusterAccess
    from longhaul.client.sign_in import token_of

    issuer, place = profile.issuer(options.issuer), profile.place()

    class SignedIn(ApiReader):
        """The API with a valid token for each request."""

        def _headers(self) -> dict[str, str]:
            token = token_of(issuer, place, device=options.device, may_ask=True).id_token
            return {**super()._headers(), "Authorization": f"Bearer {token}"}

    parts = urlsplit(profile.server)
    access = ClusterAccess(
        host=parts.hostname or "",
        port=parts.port or 443,
        context=ssl.create_default_context(cadata=profile.authority),
        server_name=profile.server_name or parts.hostname or "",
    )
    return SignedIn(access)
