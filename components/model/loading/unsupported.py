"""Keys that the file's format lacks: reserved ones, refused with their future meaning, and other tools', refused with
what there is instead."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.faults import Location

ANY = "*"
"""Stands for any name or index in a key."""

UNSUPPORTED: Mapping[tuple[str, ...], str] = {
    ("pools", ANY, "spot_share"): "the share of a pool's machines that are spare capacity, under its one `max`",
    ("boxes",): "researchers' own machines: who has one, of which type, in which site",
    ("storage",): "storage for data and checkpoints: file systems and buckets by site",
}
"""Future meaning of each reserved key. When a key takes effect, it moves from here into the model."""

_KEY = "leave it out: a key of volumes is given when an image is baked, `longhaul image build --key` (docs/images.md)"
_PROXY = "leave it out: machines get no proxy of yours; a depot serves sites without the internet (docs/depot.md)"
_RESOLVER = (
    "leave it out: machines ask their site's own resolver, whose zones a site names as `private_zones` (docs/dns.md)"
)
_TIME = "leave it out: machines get no time servers of yours (docs/limits.md)"
_HOST = "leave it out: installing hosts' systems is yours (docs/limits.md)"
_PULL = "leave it out: pods name images in full, and a registry's password is a secret of their namespace"
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("kms_key", "kms_key_id", "encryption_key", "disk_encryption_set"), _KEY),
    **dict.fromkeys(("proxy", "http_proxy", "https_proxy", "no_proxy"), _PROXY),
    **dict.fromkeys(("dns", "dns_servers", "nameservers"), _RESOLVER),
    **dict.fromkeys(("ntp", "ntp_servers", "time_servers"), _TIME),
    **dict.fromkeys(("bmc", "ipmi", "mac", "serial"), _HOST),
    **dict.fromkeys(("registry", "registries", "image_pull_secrets"), _PULL),
}
"""Words for keys of other tools, by the key's name at any place."""


def unsupported(location: Location) -> str:
    """Return the future meaning of the key at ``location``; empty when it is not reserved."""
    path = tuple(map(str, location))
    for key, meaning in UNSUPPORTED.items():
        if len(key) == len(path) and all(part in (ANY, step) for part, step in zip(key, path, strict=True)):
            return meaning
    return ""
