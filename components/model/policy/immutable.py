"""Immutable settings: values that must stay as they are while an environment is in use, by key in the environment's
file.

Machines, pods, certificates and the other end of every link know each other by these values. A change would replace the
parts that have the value, or cut them off. Additions, and removals of whole sites, change none of the other values.
Once backups are declared, their retention in days may grow, but not shrink or disappear.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan
from components.model.sites.places import site_ranges
from contract.documents.backups import BackupClass

SUPERNET, DOMAIN, PREFIX, CONTROL_SITE = "supernet", "domain", "naming.prefix", "control_plane.site"

ENVIRONMENT_KEYS = (SUPERNET, DOMAIN, PREFIX, CONTROL_SITE)
"""Keys of the environment's own immutable settings, which are fixed for its life."""

BACKUPS = "backups"
"""Prefix of the keys of backups' retention in days. Retention may grow, and lasts for the environment's life."""

Settings = Mapping[str, str]
"""Values of immutable settings, by key in the environment's file. A range that the file leaves out has the address
plan's value."""


@dataclass(frozen=True, kw_only=True)
class Changed:
    """An immutable setting that would change."""

    key: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.key}: {self.was} -> {self.now}"

    @property
    def site(self) -> str:
        """Return the site to which the setting belongs; empty when it is the environment's own."""
        return self.key.split(".")[1] if self.key.startswith("sites.") else ""

    @property
    def part(self) -> str:
        """Return the setting's key without the site's part."""
        return self.key.removeprefix(f"sites.{self.site}.")

    @property
    def is_range(self) -> bool:
        """Return whether the setting is a range of the address plan."""
        return self.key == SUPERNET or self.part == "range" or self.is_zone

    @property
    def is_zone(self) -> bool:
        """Return whether the setting is the range of a zone."""
        return self.part.startswith("zones.")


def settings(environment: Environment, addresses: AddressPlan) -> dict[str, str]:
    """Return the immutable settings of an environment and its address plan. Hosts are not among them, because no stack
    contains them."""
    by_key = {
        SUPERNET: str(environment.supernet),
        DOMAIN: environment.domain,
        PREFIX: environment.naming.prefix or "none",
        CONTROL_SITE: environment.control_plane.site,
    }
    if environment.backups is not None:
        days = {f"{BACKUPS}.{kept}_days": environment.backups.days(kept) for kept in BackupClass}
        by_key |= {key: str(value) for key, value in days.items()}
    for name, site in environment.sites.items():
        ranges = site_ranges(addresses, name)
        site_settings = {"kind": site.kind, **cloud_of(site).immutable_settings(site, ranges)}
        site_settings["range"] = str(ranges.block)
        by_key |= {f"sites.{name}.{key}": value for key, value in site_settings.items()}
    return by_key


def changes(before: Settings, after: Settings) -> tuple[Changed, ...]:
    """Return the settings that are in both and differ, without those that only follow from another change; for backups,
    the days that shrink or are only in ``before``."""
    changed = {
        key: Changed(key=key, was=was, now=after[key])
        for key, was in before.items()
        if not _keeps_backups(key) and after.get(key, was) != was
    }
    changed |= {
        key: Changed(key=key, was=was, now=after.get(key, "none"))
        for key, was in before.items()
        if _keeps_backups(key) and int(after.get(key, "0")) < int(was)
    }
    return tuple(change for change in changed.values() if not _follows(change, changed))


def _keeps_backups(key: str) -> bool:
    return key.startswith(f"{BACKUPS}.")


def _follows(change: Changed, changed: Container[str]) -> bool:
    """Return whether a setting changes only because one that contains it changes."""
    if not change.site:
        return False
    larger = {f"sites.{change.site}.kind"} - {change.key}
    if change.is_range:
        larger.add(SUPERNET)
    if change.is_zone:
        larger.add(f"sites.{change.site}.range")
    return any(key in changed for key in larger)


def instead(changed: Iterable[Changed]) -> tuple[str, ...]:
    """Return advice: a sentence or two for each sort of change."""
    edits = list(changed)
    advice: list[str] = []
    if any(_keeps_backups(edit.key) for edit in edits):
        advice.append(
            "Existing backups keep their days: `backups` stays in the file, and its days "
            "may only grow; to end backups of an environment, end the environment (docs/backups.md)."
        )
    if lasting := [f"`{edit.key}`" for edit in edits if edit.key in ENVIRONMENT_KEYS]:
        advice.append(
            f"{' and '.join(lasting)}: fixed for an environment's life; another value needs a new environment "
            "beside it."
        )
    if moved := [edit for edit in edits if edit.part == "range"]:
        lines = ", ".join(f"`range: {edit.was}` into {edit.site}" for edit in moved)
        advice.append(f"A site keeps a range that is written in the file, whatever comes before it: {lines}.")
    if zones := dict.fromkeys(edit.site for edit in edits if edit.is_zone):
        advice.append(f"Zones keep their order: append to `zones` of {', '.join(zones)}, and remove only at its end.")
    if any(edit.site and not edit.is_zone for edit in edits):
        advice.append(
            "To move a site that is not the control plane's, add one of another name at the end of the file, move the "
            "pools there, then remove the old."
        )
    return tuple(advice)
