"""A person at a browser: follows the page that a program shows, gives a name, and agrees.

``python -m lab.oidc.person AUTHORITY NAME URL``; AUTHORITY is the file with the authority of the company's server. In a
lab with the company, this program is the operator's browser (lab/operator.py); the variable ``LONGHAUL_LAB_PERSON`` has
the person's name.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urljoin

import requests

PERSON_VARIABLE = "LONGHAUL_LAB_PERSON"
_FORM = re.compile(r'<form[^>]* action="([^"]+)".*?name="prompt" value="(\w+)"', re.DOTALL)


def browser(authority: Path) -> requests.Session:
    """Return a browser that trusts an authority."""
    session = requests.Session()
    session.trust_env, session.verify = False, str(authority)
    return session


def fill_in(session: requests.Session, page: requests.Response, name: str) -> str:
    """Fill in each form that is shown; return the last page."""
    while form := _FORM.search(page.text):
        answers = {"prompt": form[2], "login": name, "password": "any"}
        page = session.post(urljoin(page.url, form[1]), data=answers, timeout=60)
    return page.text


def sign_in(authority: Path, name: str, url: str) -> str:
    """Sign in at a page as the person ``name``; return the last page."""
    session = browser(authority)
    return fill_in(session, session.get(url, timeout=60), name)


def variables(authority: Path, people: Iterable[str]) -> dict[str, str]:
    """Return the variables by which programs show pages to this person (Python's ``webbrowser``). A program shows pages
    on a desktop alone, and goes on while the page is shown."""
    words = [sys.executable, "-m", "lab.oidc.person", str(authority), "", "%s"]
    folder = Path(__file__).resolve().parents[2]
    return {
        "BROWSER": f"{shlex.join(['env', f'PYTHONPATH={folder}', *words])} &",
        "DISPLAY": ":0",
        "LONGHAUL_LAB_PEOPLE": " ".join(people),
    }


def main(authority: str, name: str, url: str) -> int:
    """Sign in as the person of this name, or of the one in the variable."""
    person = name or os.environ.get(PERSON_VARIABLE, "")
    known = os.environ.get("LONGHAUL_LAB_PEOPLE", "").split()
    if not person or (known and person not in known):
        who = f"the company has no {person!r}" if person else "nobody is at this browser"
        print(f"{who}: {PERSON_VARIABLE}=NAME says who signs in, one of: {', '.join(known)}", file=sys.stderr)
        return 2
    sign_in(Path(authority), person, url)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
