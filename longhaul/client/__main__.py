"""The program that kubectl runs for a credential: ``python -m longhaul.client --profile FILE``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from longhaul.client.errors import SignInError
from longhaul.client.profile import read_profile
from longhaul.client.sign_in import token_of
from longhaul.client.tokens import EARLY_S, Tokens
from longhaul.terminal.say import say


def main() -> int:
    """Print an ``ExecCredential``."""
    parser = argparse.ArgumentParser(prog="longhaul.client", description=__doc__)
    parser.add_argument("--profile", type=Path, required=True, metavar="FILE")
    parser.add_argument("--issuer", metavar="NAME")
    parser.add_argument("--device", action="store_true", help="sign in on another machine")
    options = parser.parse_args()
    try:
        profile = read_profile(options.profile)
        issuer = profile.issuer(options.issuer)
        print(json.dumps(credential(token_of(issuer, profile.place(), device=options.device, may_ask=_may_ask()))))
    except SignInError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def credential(tokens: Tokens) -> dict[str, object]:
    """Return the answer to kubectl (client.authentication.k8s.io/v1)."""
    until = datetime.fromtimestamp(tokens.ends - EARLY_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": tokens.id_token, "expirationTimestamp": until},
    }


def _may_ask() -> bool:
    """Return whether kubectl reports an interactive terminal."""
    try:
        return bool(json.loads(os.environ["KUBERNETES_EXEC_INFO"])["spec"]["interactive"])
    except (KeyError, ValueError, TypeError):
        return sys.stderr.isatty()


if __name__ == "__main__":
    sys.exit(main())
