"""A person whom a program shows a page of the company's: ``python -m tests.support.person AUTHORITY NAME URL``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.identity_provider import browser, fill_in


def main(authority: str, name: str, url: str) -> None:
    """Sign in there as a person of this name."""
    session = browser(Path(authority))
    fill_in(session, session.get(url, timeout=60), name)


if __name__ == "__main__":
    main(*sys.argv[1:])
