"""Description of a machine in /etc/longhaul/node.json: a control-plane machine (:class:`NodeConfig`), or a machine that
runs pods (:class:`Worker`).

The file is part of a machine's user data, and a machine whose user data changes is replaced. So the order of the keys
never changes, and a new key is left out while it has its default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

PATH = Path("/etc/longhaul/node.json")

MEMBERS = ("etcd", "events")
"""Roles of members of etcd clusters."""
WORKER = "node"
"""Role of a machine that runs pods."""


_KEYS = ("role", "kind", "version", "api", "labels", "supernet", "pod_mtu")
"""Keys that every worker's file has."""


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """Description of a control-plane machine."""

    machine: str
    role: str
    """Role of the machine: ``etcd``, ``events``, ``api`` or ``vpn``."""
    index: int
    address: str
    port: int = 0
    """Port of kube-apiserver, on API servers and VPN machines."""
    join_port: int = 0
    """Port of the join endpoint, on API servers."""
    sign_in_port: int = 0
    """Port of the sign-in endpoint, on VPN machines."""
    version: str
    """Version of etcd or Kubernetes that the machine's image must contain."""
    state_secret: str = ""
    """Name of the vault's secret that says whether the etcd cluster was ever bootstrapped, on members."""
    stores: dict[str, dict[str, str]]
    """Address of every member that an etcd cluster may ever have, by cluster and member. A member has only its own
    cluster here, an API server has both."""
    learner: bool = False
    """True on the member that never votes. Its disk outlives its machine."""
    queues: bool = False
    """True on API servers beside which Kueue and JobSet run."""

    @property
    def is_member(self) -> bool:
        """True for a member of an etcd cluster."""
        return self.role in MEMBERS

    @property
    def peers(self) -> dict[str, str]:
        """Addresses of the other members that this member's etcd cluster may have, by name."""
        return {name: address for name, address in self.stores[self.role].items() if name != self.machine}

    def to_text(self) -> str:
        """Return the file's content."""
        return _text(self)

    @classmethod
    def read(cls, path: Path = PATH) -> NodeConfig:
        """Read the file. Raise ``OSError``, ``ValueError`` or ``TypeError`` if the file is missing or malformed."""
        return cls(**json.loads(path.read_text()))


CHECK_S = 900.0
"""Longest duration of the program in :attr:`GpuPromise.check`, seconds."""


@dataclass(frozen=True, kw_only=True)
class GpuPromise:
    """GPUs that a machine must have. The machine's preflight test checks them (docs/gpus.md)."""

    gpus: int = 0
    model: str = ""
    """Words that each GPU's name must contain; empty for any name."""
    nvlinks: int | None = None
    """Least number of active NVLinks of each GPU; ``None`` for the number that the GPU reports."""
    check: tuple[str, ...] = ()
    """Program that tests memory and compute, with its arguments; empty for none."""

    def to_document(self) -> dict[str, Any]:
        """Return the promise as keys of the file. Values that are not promised are left out."""
        promise = {"gpu_model": self.model or None, "gpu_nvlinks": self.nvlinks, "gpu_check": list(self.check) or None}
        return {"gpus": self.gpus, **{key: value for key, value in promise.items() if value is not None}}

    @classmethod
    def of_document(cls, node: Any) -> GpuPromise:
        """Read the promise from the keys of the file, all of which are optional. Raise ``ValueError`` if a value has
        the wrong form."""
        if not isinstance(node, dict):
            raise ValueError("not an object")
        gpus, model, nvlinks = node.get("gpus", 0), node.get("gpu_model", ""), node.get("gpu_nvlinks")
        check = node.get("gpu_check", [])
        if not _is_count(gpus):
            raise ValueError(f"gpus must be a number, not {gpus!r}")
        if not isinstance(model, str):
            raise ValueError(f"gpu_model must be a text, not {model!r}")
        if not (nvlinks is None or _is_count(nvlinks)):
            raise ValueError(f"gpu_nvlinks must be a number, not {nvlinks!r}")
        if not isinstance(check, list) or not all(isinstance(word, str) for word in check):
            raise ValueError(f"gpu_check must be a list, the program and its arguments, not {check!r}")
        return cls(gpus=gpus, model=model, nvlinks=nvlinks, check=tuple(check))


@dataclass(frozen=True, kw_only=True)
class HugePages:
    """Huge pages that a machine reserves at its start."""

    gib: int = 0
    """Number of pages of 1 GiB."""
    mib_2: int = 0
    """Number of pages of 2 MiB."""

    @classmethod
    def of_document(cls, node: Mapping[str, Any]) -> HugePages:
        """Read the keys of huge pages, both optional. Raise ``TypeError`` or ``ValueError`` if a value is not a
        number."""
        return cls(gib=int(node.get("huge_pages_gib", 0)), mib_2=int(node.get("huge_pages_2mib", 0)))


@dataclass(frozen=True, kw_only=True)
class JoinSettings:
    """Address of the join endpoint, the endpoint's name, and the environment's name."""

    address: str
    port: int
    name: str
    """Name in the endpoint's certificate."""
    cluster: str
    """Name of the environment, which is part of the proof."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Description of a machine that runs pods."""

    role: str = WORKER
    kind: str
    """Cloud of the machine's site: ``aws``, ``azure`` or ``onprem``."""
    version: str
    """Version of Kubernetes that the machine's image must hold."""
    api: str
    """URL of the API servers."""
    labels: dict[str, str]
    supernet: str
    pod_mtu: int
    gpus: GpuPromise = GpuPromise()
    huge_pages: HugePages = HugePages()
    deletion_notice: bool = False
    """True if the machine's group has the cloud announce the deletion of a machine."""
    join: JoinSettings | None = None
    """Endpoint at which a cloud's machine proves its identity; None for a host, which has a token."""

    def to_text(self) -> str:
        """Return the file's content."""
        node = {
            **{key: getattr(self, key) for key in _KEYS},
            **self.gpus.to_document(),
            "huge_pages_gib": self.huge_pages.gib,
            **({"deletion_notice": True} if self.deletion_notice else {}),
            **({"huge_pages_2mib": self.huge_pages.mib_2} if self.huge_pages.mib_2 else {}),
            **({"join": vars(self.join)} if self.join else {}),
        }
        return json.dumps(node, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path = PATH) -> Worker:
        """Read the file. Raise ``OSError``, ``ValueError``, ``TypeError`` or ``AttributeError`` if the file is missing
        or malformed. Ignore unknown keys, which a newer Longhaul than the image's may write."""
        raw = json.loads(path.read_text())
        if missing := [key for key in _KEYS if key not in raw]:
            raise ValueError(f"{path}: {', '.join(missing)}: missing")
        return cls(
            role=raw["role"],
            kind=raw["kind"],
            version=raw["version"],
            api=raw["api"],
            labels=raw["labels"],
            supernet=raw["supernet"],
            pod_mtu=raw["pod_mtu"],
            gpus=GpuPromise.of_document(raw),
            huge_pages=HugePages.of_document(raw),
            deletion_notice=raw.get("deletion_notice", False),
            join=JoinSettings(**raw["join"]) if "join" in raw else None,
        )


def role_of(text: str) -> str:
    """Return the role in a file's content. Raise ``ValueError``, ``KeyError`` or ``TypeError`` if the content has no
    role."""
    return str(json.loads(text)["role"])


def version_of(text: str) -> str:
    """Return the version in a file's content; empty if the content has no version."""
    try:
        return str(json.loads(text)["version"])
    except (ValueError, KeyError, TypeError):
        return ""


def _text(node: NodeConfig) -> str:
    values = ((field, getattr(node, field.name)) for field in fields(node))
    written = {field.name: value for field, value in values if field.default is MISSING or value != field.default}
    return json.dumps(written, indent=1) + "\n"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
