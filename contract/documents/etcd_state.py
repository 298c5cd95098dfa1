"""State of an etcd cluster, in a secret of the vault: whether the cluster was ever bootstrapped. Only the first members
of a new cluster may bootstrap it. Once a cluster exists, a member without data joins the cluster, and never bootstraps
another."""

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
    """Id of the etcd cluster in hexadecimal; empty while the id is unknown."""
    founders: tuple[str, ...] = ()
    """Members that bootstrap the cluster. There are none once the cluster exists, unless a restore named some."""

    def to_text(self) -> str:
        """Return the secret's value."""
        fields = asdict(self)
        return json.dumps(fields if self.founders else {key: fields[key] for key in ("state", "cluster")})


def of_text(text: str) -> RecordedCluster:
    """Read the secret's value. Raise ``AttributeError``, ``TypeError`` or ``ValueError`` if the value is malformed."""
    raw = json.loads(text)
    return RecordedCluster(**{**raw, "founders": tuple(raw.get("founders", ()))})
