"""A machine's files as user-data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clouds.registry import cloud_of
from components.model.sites.section import Site
from components.render.documents import yaml_document
from components.render.file import File


class UserDataError(ValueError):
    """Raised when the user-data is too large, contains a secret, or is for a site without user-data."""


class UserDataTooLargeError(UserDataError):
    """Raised when the user-data is larger than the cloud accepts. Sizes are in bytes."""

    def __init__(self, message: str, *, size: int, limit: int) -> None:
        super().__init__(message)
        self.size, self.limit = size, limit


@dataclass(frozen=True, kw_only=True)
class UserData:
    """Content of user-data, and the machines it is for."""

    name: str
    """Name of the machine, or of the pool of machines."""
    site: Site
    files: Mapping[str, File]
    start: str | None
    """Unit that starts the machine's work at the end of cloud-init; ``None`` when one of the files starts it."""


def cloud_config(data: UserData) -> str:
    """Return the complete ``#cloud-config``; raise ``UserDataError`` when the site's cloud would not accept it or a
    file is secret."""
    for path, file in data.files.items():
        if file.secret:
            raise UserDataError(
                f"{data.name}: {path} is secret, and user-data is not: let the machine fetch it from the vault"
            )
    value: dict[str, object] = {"write_files": [_entry(path, file) for path, file in data.files.items()]}
    if data.start is not None:
        value["runcmd"] = [_start(data.start)]
    return _within_limit(f"#cloud-config\n# {data.name}, written by Longhaul.\n{yaml_document(value)}", data)


def _entry(path: str, file: File) -> dict[str, str]:
    return {"path": path, "owner": file.owner, "permissions": f"{file.mode:04o}", "content": file.content}


def _start(target: str) -> list[str]:
    """Return the command that starts the machine's work. Its failure is cloud-init's failure, with the journal in
    /var/log/cloud-init-output.log."""
    journal = "journalctl --boot --no-pager --priority=notice --lines=100"
    return ["sh", "-c", f"systemctl enable --now {target} || {{ {journal}; exit 1; }}"]


def _within_limit(text: str, data: UserData) -> str:
    size, limit = len(text.encode()), cloud_of(data.site).user_data_limit
    if limit is None:
        raise UserDataError(f"{data.name}: its site is of kind {data.site.kind}, which takes no user-data")
    if size > limit:
        raise UserDataTooLargeError(
            f"{data.name}: its user-data is {size} bytes, {data.site.kind} takes {limit}: "
            "name fewer certificates under depots.authority, or smaller ones (`longhaul validate`); whoever changes "
            "Longhaul moves what is the same on every machine into the image (images/rootfs)",
            size=size,
            limit=limit,
        )
    return text
