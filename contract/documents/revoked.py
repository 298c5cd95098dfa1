"""People whose access was revoked. API servers refuse these people with any token.

The vault's secret ``revoked`` contains the list. Only officers write the secret, ``longhaul up`` does not change it,
and API servers fetch it (``components/render/quarantine.py``).
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from contract.vault import size_checked

PATH = "/etc/longhaul/revoked.json"
"""File with the list on API servers and VPN machines."""

NAME = r"[a-z][a-z0-9-]{0,30}:[!#%-+\--\[\]-_a-~]{1,256}"
"""Pattern of a person's name with the issuer's prefix. The pattern admits ASCII except characters with a special
meaning in YAML, CEL (RE2), Python, shells or our lists (space, quotation marks, ``$``, comma, backslash, backquote).
Names and ids of Entra and Okta contain none of these."""


@dataclass(frozen=True, kw_only=True)
class RevokedPerson:
    """A person whose access was revoked."""

    name: str
    """Name in Kubernetes, with the issuer's prefix."""
    since: str
    """Time at which the access was revoked, RFC 3339."""
    by: str
    """Name of the officer who revoked the access."""


@dataclass(frozen=True, kw_only=True)
class Revoked:
    """All people whose access was revoked, in the order of revocation."""

    people: tuple[RevokedPerson, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Revoked:
        """Parse the vault's value. Raise ``ValueError`` if the value is malformed."""
        try:
            people = tuple(RevokedPerson(**person) for person in json.loads(text)["people"])
            names = [person.name for person in people]
            fit = all(is_name(name) for name in names)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError("it is not a list of people") from None
        if not fit or len(set(names)) < len(names):
            raise ValueError("each person needs a name with an issuer's prefix, and no name may occur twice")
        return cls(people=people)

    def text(self) -> str:
        """Return the vault's value. Its field ``users`` is the names as one string for kube-apiserver's configuration;
        CEL and YAML parse the string to the same list. Raise ``ValueError`` if the value is too long for a vault."""
        users = json.dumps(list(self.names))
        document = json.dumps({"users": users, "people": [asdict(person) for person in self.people]})
        return size_checked(document)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the people's names, in alphabetical order."""
        return tuple(sorted(person.name for person in self.people))

    def find(self, name: str) -> RevokedPerson | None:
        """Return the person of this name; None if the person is not on the list."""
        return next((person for person in self.people if person.name == name), None)

    def with_(self, person: RevokedPerson) -> Revoked:
        """Return the list with ``person`` added; a person already on the list is left unchanged."""
        return self if self.find(person.name) else Revoked(people=(*self.people, person))

    def without(self, name: str) -> Revoked:
        """Return the list without a person."""
        return Revoked(people=tuple(person for person in self.people if person.name != name))


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of the people in a list, in alphabetical order. Raise ``KeyError``, ``TypeError`` or
    ``ValueError`` if the list is malformed."""
    return tuple(sorted(str(person["name"]) for person in json.loads(text)["people"]))


def is_name(name: str) -> bool:
    """Return whether ``name`` has the form of a name that can be refused."""
    return re.fullmatch(NAME, name) is not None
