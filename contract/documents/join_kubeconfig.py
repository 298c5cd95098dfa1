"""Kubeconfig with which a host's kubelet requests its first certificate. The file is JSON, which is also YAML, because
the node's own programs read it. The file names the authority by path, so that the authority is renewed in one place."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

PATH = "/etc/longhaul/join.kubeconfig"


@dataclass(frozen=True, kw_only=True)
class JoinKubeconfig:
    """Contents of the file."""

    server: str
    authority: str
    """Path of the authority that must have signed the server's certificate."""
    token: str = field(repr=False)

    def to_text(self, name: str) -> str:
        """Return the file's content. ``name`` is the name of the cluster."""
        cluster = {"server": self.server, "certificate-authority": self.authority}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": "join", "user": {"token": self.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "join"}}],
            "current-context": name,
        }
        return json.dumps(document, indent=1) + "\n"


def of_text(text: str) -> JoinKubeconfig:
    """Read the file's content. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the content is malformed."""
    raw = json.loads(text)
    cluster, user = raw["clusters"][0]["cluster"], raw["users"][0]["user"]
    return JoinKubeconfig(server=cluster["server"], authority=cluster["certificate-authority"], token=user["token"])
