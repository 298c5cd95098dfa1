"""State of an etcd cluster, in a secret of the vault: whether it was ever bootstrapped. Until then its first members
may bootstrap it; from then on a member without data joins it, and never bootstraps another."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

NEW, EXISTING = "new", "existing"


@dataclass(frozen=True, kw_only=True)
class RecordedCluster:
    """State of the etcd cluster as the vault records it."""

    state: str
    """:data:`NEW` or :data:`EXISTING`."""
    cluster: str = ""
    """Id of the etcd cluster in hexadecimal; empty while it is not known."""
    founders: tuple[str, ...] = ()
    """Members that bootstrap it; none once it exists, unless a restore named them."""

    def to_text(self) -> str:
        """Return the secret's value."""
        fields = asdict(self)
        return json.dumps(fields if self.founders else {key: fields[key] for key in ("state", "cluster")})


def of_text(text: str) -> RecordedCluster:
    """Read the secret's value; ``AttributeError``, ``TypeError`` or ``ValueError`` when it is not one."""
    raw = json.loads(text)
    return RecordedCluster(**{**raw, "founders": tuple(raw.get("founders", ()))})
