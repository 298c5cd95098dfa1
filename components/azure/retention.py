"""Retention of a container: the number of days for which nobody may change or delete a blob in it.

Azure-native's own resource cannot be deleted: Azure requires the policy's ETag in ``If-Match``, which that provider
does not send (pulumi/pulumi-azure-native issue 2156, "incorrect etag").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from clouds.azure.containers import end_retention, retain, retained
from components.control_plane.guard import confirmed
from components.control_plane.replacement import GuardRefusedError
from components.control_plane.secrets import changed

Properties = dict[str, Any]


class RetentionProvider(ResourceProvider):
    """Sets and ends the retention of a container."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Set the retention."""
        retain(props["container"], days=int(props["days"]))
        return CreateResult(id_=f"{props['container']}/retention", outs=props)

    def update(self, _id: str, olds: Properties, news: Properties) -> UpdateResult:
        """Set a larger number of days; raise ``GuardRefusedError`` for a smaller one. Azure refuses any change once
        somebody has locked the policy."""
        if int(news["days"]) < int(olds["days"]):
            raise GuardRefusedError(
                f"{_name(olds)} keeps its backups for {int(olds['days'])} days, and the file says {int(news['days'])}: "
                "days may only grow (docs/guards.md)."
            )
        retain(news["container"], days=int(news["days"]))
        return UpdateResult(outs=news)

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Report another container as a replacement, and another number of days or environment as an update."""
        replaces = changed(("container",), olds, news)
        differs = bool(changed(("days", "environment"), olds, news))
        return DiffResult(changes=differs or bool(replaces), replaces=replaces)

    def delete(self, _id: str, props: Properties) -> None:
        """End the retention if the environment's destruction is confirmed, so that the container can be deleted; else
        raise ``GuardRefusedError``. Azure refuses to end a locked policy."""
        if not retained(props["container"]):
            return
        if not confirmed(props["environment"]):
            raise GuardRefusedError(
                f"{_name(props)} keeps its backups for {int(props['days'])} days, and its retention stays as it is.\n"
                "Put `backups` back into the file as it was. A retention ends with the whole environment, by `longhaul "
                "destroy`, or by hand in Azure (docs/guards.md)."
            )
        end_retention(props["container"])


def _name(props: Properties) -> str:
    account, _, container = str(props["container"]).partition("/blobServices/default/containers/")
    return f"{account.rpartition('/')[2]}/{container}"


@dataclass(frozen=True, kw_only=True)
class RetentionArgs:
    """Arguments of a container's retention."""

    container: pulumi.Input[str]
    """Id of the container."""
    days: int
    environment: str


class Retention(Resource, module="longhaul", name="Retention"):
    """The retention of one container."""

    def __init__(self, name: str, args: RetentionArgs, opts: ResourceOptions | None = None) -> None:
        properties = {"container": args.container, "days": args.days, "environment": args.environment}
        super().__init__(RetentionProvider(), name, properties, opts)
