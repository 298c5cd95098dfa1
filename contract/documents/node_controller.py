"""The node controller's document of an environment: the sites, pools and hosts whose machines may be nodes. The objects
stack writes the document into a ConfigMap. The node controller and the join endpoint read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from contract.documents import pools as pools_document
from contract.documents.pools import DeclaredPool
from contract.json_object import json_object
from contract.labels import HOSTS_POOL_LABEL
from contract.object_names import ENVIRONMENT_KEY

CONFIGMAP = "longhaul-environment"
KEY = ENVIRONMENT_KEY
FORMAT = 1
"""Version of the format. The version is raised when an older reader would misread the document. A new key needs no new
version, because readers ignore unknown keys."""

_SITE_FIELDS = {
    "aws": ("region", "node_role"),
    "azure": ("region", "subscription", "resource_group", "tenant"),
    "onprem": (),
}
_TEXT = re.compile(r"[A-Za-z0-9._/:@+=-]{1,512}")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
"""Form of a Node's name (k8s.io/apimachinery, ``validation.IsDNS1123Subdomain``)."""


class NodeEnvironmentError(ValueError):
    """The document is invalid; the message names every fault, one on each line."""


@dataclass(frozen=True, kw_only=True)
class NodeSite:
    """A site. Fields that the site's cloud does not have are empty."""

    name: str
    kind: str
    """Cloud of the site: ``aws``, ``azure`` or ``onprem``."""
    region: str = ""
    subscription: str = ""
    resource_group: str = ""
    node_role: str = ""
    """AWS role of the site's nodes."""
    tenant: str = ""
    """Azure directory of the machines' identities."""


@dataclass(frozen=True, kw_only=True)
class NodeHost:
    """A host, as declared in the hosts file."""

    name: str
    """Name of the host's Node."""
    site: str
    address: str
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the host's Node, without the labels that only the machine itself knows."""
    pods: str = ""
    """Range of addresses of the host's pods."""


@dataclass(frozen=True, kw_only=True)
class NodeEnvironment:
    """Contents of the whole document."""

    name: str
    aws_role: str
    """AWS role that the node controller assumes; empty without an AWS site."""
    sites: Mapping[str, NodeSite]
    pools: Mapping[str, DeclaredPool]
    hosts: Mapping[str, NodeHost]
    unread: Mapping[str, str] = field(default_factory=dict)
    """Kind of each site that this image does not support, by site name. Such a site and its pools are missing in the
    other fields."""

    @property
    def aws_account(self) -> str:
        """Return the account of every AWS site, which is the account of the role; empty without a role."""
        return self.aws_role.split(":")[4] if self.aws_role.count(":") >= 5 else ""

    def sites_of(self, kind: str) -> tuple[NodeSite, ...]:
        """Return the sites of one cloud."""
        return tuple(site for site in self.sites.values() if site.kind == kind)

    def pools_of(self, site: str) -> tuple[DeclaredPool, ...]:
        """Return the pools of one site."""
        return tuple(pool for pool in self.pools.values() if pool.site == site)

    def hosts_of(self, site: str) -> tuple[NodeHost, ...]:
        """Return the hosts of one site."""
        return tuple(host for host in self.hosts.values() if host.site == site)


def to_text(environment: NodeEnvironment) -> str:
    """Return the document as JSON. Each host is one short line, because a ConfigMap has at most 1 MiB (kubernetes.io,
    "ConfigMaps") and 8,192 hosts take three quarters of it. A host refers to its labels by an index into
    ``rack_labels``, which contains each set of labels once."""
    sets = list({tuple(host.labels.items()): host.labels for host in environment.hosts.values()}.values())
    document = {
        "format": FORMAT,
        "environment": environment.name,
        "aws_role": environment.aws_role or None,
        "sites": {
            name: {"kind": site.kind, **{key: getattr(site, key) for key in _SITE_FIELDS.get(site.kind, ())}}
            for name, site in environment.sites.items()
        },
        "pools": {name: pools_document.to_document(pool) for name, pool in environment.pools.items()},
        "rack_labels": {str(index): label_set for index, label_set in enumerate(sets)},
        "racks": {
            name: {"site": host.site, "address": host.address, "pods": host.pods, "labels": sets.index(host.labels)}
            for name, host in environment.hosts.items()
        },
    }
    parts = [f"{_line(key)}: {_lines(part)}" for key, part in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def of_text(text: str) -> NodeEnvironment:
    """Parse the document in ``text``. Raise ``NodeEnvironmentError`` with all faults if the document is invalid."""
    try:
        raw = json_object(text)
    except ValueError as error:
        raise NodeEnvironmentError(f"{KEY}: cannot be read: {error}") from None
    faults = list(_faults(raw))
    if faults:
        raise NodeEnvironmentError("\n".join(f"{KEY}: {fault}" for fault in faults))
    unread = _unread(raw["sites"])
    raw = _without(raw, unread)
    rack_labels = raw.get("rack_labels") or {}
    sites = {
        name: NodeSite(name=name, kind=site["kind"], **{key: site[key] for key in _SITE_FIELDS[site["kind"]]})
        for name, site in raw["sites"].items()
    }
    return NodeEnvironment(
        name=raw["environment"],
        aws_role=raw.get("aws_role") or "",
        sites=sites,
        pools={name: pools_document.of_document(name, pool) for name, pool in raw["pools"].items()},
        hosts={
            name: NodeHost(
                name=name,
                site=host["site"],
                address=host["address"],
                pods=str(host.get("pods") or ""),
                labels=rack_labels.get(str(host.get("labels")), {}),
            )
            for name, host in raw["racks"].items()
        },
        unread=unread,
    )


def _unread(sites: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the kind of each site that this release does not support. Machines of all other sites are admitted."""
    kinds = {name: site.get("kind") for name, site in sites.items()}
    return {name: str(kind) for name, kind in kinds.items() if _is_text(kind) and kind not in _SITE_FIELDS}


def _without(raw: Mapping[str, Any], sites: Iterable[str]) -> dict[str, Any]:
    """Return the document without some sites and their pools."""
    left_out = list(sites)
    pools = {name: pool for name, pool in raw["pools"].items() if pool.get("site") not in left_out}
    return {**raw, "sites": {name: site for name, site in raw["sites"].items() if name not in left_out}, "pools": pools}


def _faults(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield every fault. Unknown keys are allowed: a newer Longhaul may write them."""
    if raw.get("format") != FORMAT:
        yield f"format: is {raw.get('format')!r}, this controller reads {FORMAT}: renew the image or the objects"
        return
    if not _is_text(raw.get("environment")):
        yield "environment: is missing; write the environment's name"
    parts = {part: raw.get(part) for part in ("sites", "pools", "racks")}
    for part, value in parts.items():
        if not isinstance(value, dict) or not all(isinstance(item, dict) for item in value.values()):
            yield f"{part}: is not a mapping of mappings"
            return
    raw = _without(raw, _unread(raw["sites"]))
    sites: dict[str, dict[str, Any]] = raw["sites"]
    yield from _site_faults(sites)
    yield from _pool_faults(raw["pools"], sites)
    yield from _host_faults(raw["racks"], sites)
    yield from _label_faults(raw)
    used = [sites.get(str(pool.get("site")), {}).get("kind") for pool in raw["pools"].values()]
    if "aws" in used and not _is_text(raw.get("aws_role")):
        yield "aws_role: is missing, and there are pools in AWS; write the stack's output node_controller_role"


def _lines(part: Any) -> str:
    """Return JSON with one line for each entry."""
    if not isinstance(part, dict) or not part:
        return _line(part)
    return "{\n" + ",\n".join(f" {_line(key)}: {_line(inside)}" for key, inside in part.items()) + "\n}"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _site_faults(sites: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, site in sites.items():
        kind = site.get("kind")
        if not _is_text(kind) or kind not in _SITE_FIELDS:
            yield f"sites.{name}.kind: is {kind!r}; write one of {', '.join(_SITE_FIELDS)}"
            continue
        for key in _SITE_FIELDS[kind]:
            if not _is_text(site.get(key)):
                yield f"sites.{name}.{key}: is missing, and a site of kind {kind} needs it"


def _pool_faults(pools: dict[str, dict[str, Any]], sites: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, pool in pools.items():
        site = sites.get(str(pool.get("site")))
        if site is None or site.get("kind") == "onprem":
            yield f"pools.{name}.site: {pool.get('site')!r} is not a cloud site of this document"
        yield from (f"pools.{name}.{fault}" for fault in pools_document.faults(pool))
        if name == HOSTS_POOL_LABEL:
            yield f"pools.{name}: is the name of the racks' pool; give it another"


def _host_faults(hosts: dict[str, dict[str, Any]], sites: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, host in hosts.items():
        site = sites.get(str(host.get("site")))
        if site is None or site.get("kind") != "onprem":
            yield f"racks.{name}.site: {host.get('site')!r} is not an on-prem site of this document"
        if not _NAME.fullmatch(name):
            yield f"racks.{name}: is not a Node's name"
        try:
            IPv4Address(host.get("address"))
        except ValueError:
            yield f"racks.{name}.address: {host.get('address')!r} is not an IPv4 address"


def _label_faults(raw: Mapping[str, Any]) -> Iterator[str]:
    sets = raw.get("rack_labels") or {}
    if not isinstance(sets, dict):
        yield f"rack_labels: is {sets!r}; write the sets of labels of hosts by their number"
        return
    label_sets = {f"rack_labels.{number}": labels for number, labels in sets.items()}
    for where, labels in label_sets.items():
        if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
            yield f"{where}: is {labels!r}; write labels with their values"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and _TEXT.fullmatch(value) is not None
