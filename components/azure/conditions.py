"""Conditions of role assignments, which narrow a built-in role to some blobs (learn.microsoft.com, "Azure role
assignment condition format and syntax")."""

from __future__ import annotations

from components.model import Machine
from contract.azure import BLOBS
from contract.documents.backups import names_of, prefix_of

VERSION = "2.0"
"""Version of that format: the only one that Azure accepts."""

_READ, _WRITE, _ADD = (f"ActionMatches{{'{BLOBS}/{action}'}}" for action in ("read", "write", "add/action"))
_LIST = "SubOperationMatches{'Blob.List'}"
_PATH, _PREFIX = f"@Resource[{BLOBS}:path]", f"@Request[{BLOBS}:prefix]"

NO_DELETION = (
    f"(!(ActionMatches{{'{BLOBS}/delete'}}) AND !(ActionMatches{{'{BLOBS}/deleteBlobVersion/action'}})"
    f" AND !(ActionMatches{{'{BLOBS}/move/action'}}))"
)
"""Condition under which nothing is deleted or renamed."""


def own_backups(member: Machine) -> str:
    """Return the condition under which a member reads and lists the backups of its own etcd cluster, makes backups
    under its own name, and deletes none.

    The condition follows two examples of learn.microsoft.com, "Example Azure role assignment conditions for Blob
    Storage": "Read or list blobs in named containers with a path" (a request to list has a prefix and no path) and
    "Write blobs in named containers with a path" (either of two actions makes a blob)."""
    prefix, names = prefix_of(member.role), names_of(member.role, member.name)
    return " AND ".join(
        (
            NO_DELETION,
            f"((!({_READ} AND NOT {_LIST})) OR ({_PATH} StringLike '{prefix}*'))",
            f"((!({_READ} AND {_LIST})) OR ({_PREFIX} StringStartsWith '{prefix}'))",
            f"((!({_WRITE}) AND !({_ADD})) OR ({_PATH} StringLike '{names}'))",
        )
    )
