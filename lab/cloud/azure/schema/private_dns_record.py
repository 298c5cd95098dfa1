"""Microsoft.Network/privateDnsZones/A: address records."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import private_dns_zone
from lab.cloud.azure.schema.base import Body, BodyPart, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = private_dns_zone.RECORD_TYPE


class ARecord(BodyPart):
    """Address of a record set."""

    ipv4_address: IPv4Address = Field(alias="ipv4Address")


class PrivateDnsRecordProperties(BodyPart):
    """Properties of a record set."""

    ttl: int = Field(ge=1, le=2147483647)
    a_records: list[ARecord] = Field(min_length=1, max_length=1)
    """Azure accepts 20 addresses in a set; the lab's resolver answers with one."""
    metadata: dict[str, str] | None = None


class RecordSet(Body):
    """A record set of type A."""

    tags: None = None
    properties: PrivateDnsRecordProperties


def check(put: Put) -> None:
    """Refuse a record set whose zone does not exist."""
    if put.store.get(put.id.parent or "") is None:
        raise ArmError(404, "ParentResourceNotFound", f"The private DNS zone '{put.id.parent}' was not found.")


def fqdn(document: ResourceDocument) -> str:
    """Return the full name of the record set, without the final dot."""
    zone = document.id.split("/")[-3]
    return zone if document.name == "@" else f"{document.name}.{zone}"


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the full name of the record set."""
    return {"fqdn": f"{fqdn(document)}.", "isAutoRegistered": False}


SPEC = TypeSpec(
    type=TYPE,
    model=RecordSet,
    check=check,
    view=view,
    parent=private_dns_zone.TYPE,
    read_only=frozenset({"fqdn", "isAutoRegistered"}),
)
