"""A machine's files as user-data."""

from __future__ import annotations

from collections.abc import Mapping

from components.model import Machine
from components.model.sites import AwsSite, AzureSite, Site
from components.render.documents import yaml_document
from components.render.file import File

LIMITS: Mapping[str, int] = {"azure": 65535, "aws": 16384}
"""Bytes of user-data each cloud takes, before the base64 of its API: Azure, compute REST API,
"OSProfile.customData"; AWS, EC2 user guide, "Run commands when you launch an EC2 instance with user data input"."""


class UserDataError(ValueError):
    """The user-data cannot be what was asked for."""


def cloud_config(machine: Machine, files: Mapping[str, File], site: Site) -> str:
    """The complete ``#cloud-config``; ``UserDataError`` when the site's cloud would not take it or a file is secret."""
    for path, file in files.items():
        if file.secret:
            raise UserDataError(
                f"{machine.name}: {path} is secret, and user-data is not: let the machine fetch it from the vault"
            )
    target = f"longhaul-{'etcd' if machine.role.is_store else 'api'}.target"
    value = {"write_files": [_entry(path, file) for path, file in files.items()], "runcmd": [_start(target)]}
    text = f"#cloud-config\n# {machine.name}, written by Longhaul.\n{yaml_document(value)}"
    return _within_limit(text, machine=machine, site=site)


def _entry(path: str, file: File) -> dict[str, str]:
    return {"path": path, "owner": file.owner, "permissions": f"{file.mode:04o}", "content": file.content}


def _start(target: str) -> list[str]:
    """Start the machine's work. A failure ends as cloud-init's, with the journal in /var/log/cloud-init-output.log."""
    journal = "journalctl --boot --no-pager --priority=notice --lines=100"
    return ["sh", "-c", f"systemctl enable --now {target} || {{ {journal}; exit 1; }}"]


def _within_limit(text: str, *, machine: Machine, site: Site) -> str:
    if not isinstance(site, AzureSite | AwsSite):
        raise UserDataError(f"{machine.name}: site {machine.site} is of kind {site.kind}, which takes no user-data")
    size, limit = len(text.encode()), LIMITS[site.kind]
    if size > limit:
        raise UserDataError(
            f"{machine.name}: its user-data is {size} bytes, {site.kind} takes {limit}: "
            "move what is the same on every machine into the image (images/rootfs)"
        )
    return text
