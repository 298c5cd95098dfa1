#!/usr/bin/python3 -IS
"""Refuse people whose access was revoked, for OpenVPN (``tls-verify``; doc/man-sections/script-options.rst): it runs
this whenever a laptop shows its certificate, which it has verified by then. Without a list that can be read, everybody
is refused.

OpenVPN moves no packet of any laptop meanwhile. So Python starts without what it would look for of its own accord
(``-IS``), and this reads the list with the standard library's json alone, and only where it counts.
"""

import sys

DEPTH = "0"
"""Depth of the laptop's own certificate in its chain."""
NAME = "X509_0_CN"
PEOPLE = "/etc/longhaul/revoked.json"
"""The list, as quarantine/refused_names.py reads it."""


def is_let_in(depth: str, name: str, *, path: str = PEOPLE) -> bool:
    """Return whether a certificate of the chain may stay; ``name`` is the common name of the laptop's own."""
    if depth != DEPTH:
        return True
    # Not for the authority's own certificate, which comes first.
    import json

    try:
        with open(path, encoding="utf-8") as file:
            people = [str(person["name"]) for person in json.load(file)["people"]]
        return bool(name) and name not in people
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"nobody is let in: {error}", file=sys.stderr)
        return False


def main() -> int:
    """Return the exit code for OpenVPN: 0 lets in."""
    if sys.argv[1] != DEPTH:
        return 0
    import os

    return 0 if is_let_in(sys.argv[1], os.environ.get(NAME, "")) else 1


if __name__ == "__main__":
    sys.exit(main())
