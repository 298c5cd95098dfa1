#!/usr/bin/python3 -IS
"""Refuse people whose access was revoked, for OpenVPN (``tls-verify``; doc/man-sections/script-options.rst). OpenVPN
runs this program for every certificate that a laptop shows, after OpenVPN has verified the certificate. Without a
readable list, everybody is refused.

While this program runs, OpenVPN moves no packets of any laptop. So Python starts without its usual search for modules
(``-IS``), and this program imports only modules of the standard library, and only for the laptop's own certificate.
"""

import sys

DEPTH = "0"
"""Depth of the laptop's own certificate in its chain."""
NAME = "X509_0_CN"
PEOPLE = "/etc/longhaul/revoked.json"
"""File with the list that quarantine/refused_names.py reads too."""


def is_let_in(depth: str, name: str, *, path: str = PEOPLE) -> bool:
    """Return whether a certificate of the chain is accepted. ``name`` is the common name in the laptop's own
    certificate."""
    if depth != DEPTH:
        return True
    # Not for the authority's own certificate, which comes first.
    import json

    try:
        with open(path, encoding="utf-8") as file:
            people = [str(person["name"]) for person in json.load(file)["people"]]
        return bool(name) and name not in people
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"every client is refused: {error}", file=sys.stderr)
        return False


def main() -> int:
    """Return the exit code for OpenVPN: 0 accepts."""
    if sys.argv[1] != DEPTH:
        return 0
    import os

    return 0 if is_let_in(sys.argv[1], os.environ.get(NAME, "")) else 1


if __name__ == "__main__":
    sys.exit(main())
