#!/usr/bin/python3 -IS
"""Refuse people whose access was revoked, for OpenVPN (``tls-verify``; doc/man-sections/script-options.rst). OpenVPN
runs this whenever a laptop shows its certificate, after verifying it. Without a readable list, everybody is refused.

OpenVPN moves no packet of any laptop meanwhile. So Python starts without its usual search for modules (``-IS``), and
this program reads the list with only the standard library's json, and only when it matters.
"""

import sys

DEPTH = "0"
"""Depth of the laptop's own certificate in its chain."""
NAME = "X509_0_CN"
PEOPLE = "/etc/longhaul/revoked.json"
"""The list, in the form that quarantine/refused_names.py reads."""


def is_let_in(depth: str, name: str, *, path: str = PEOPLE) -> bool:
    """Return whether a certificate of the chain is accepted; ``name`` is the common name of the laptop's own."""
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
