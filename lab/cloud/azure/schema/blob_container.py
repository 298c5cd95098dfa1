"""Containers of a storage account, the retention of their blobs, and rules that delete old blobs:
``blobServices/containers``, ``…/immutabilityPolicies`` and ``managementPolicies`` of Microsoft.Storage.

Properties and refusals are from learn.microsoft.com/rest/api/storagerp (Blob Containers, Management Policies) and
"Store business-critical blob data with immutable storage".
"""

from __future__ import annotations

import re
import uuid
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema import storage_account
from lab.cloud.azure.schema.base import Body, BodyPart, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Storage/storageAccounts/blobServices/containers"
POLICY_TYPE = f"{TYPE}/immutabilityPolicies"
EXPIRY_TYPE = "Microsoft.Storage/storageAccounts/managementPolicies"
DAY_S = 86400.0


class ContainerProperties(BodyPart):
    """Properties of a container."""

    public_access: Literal["None"] = "None"


class BlobContainer(Body):
    """A container."""

    tags: None = None
    properties: ContainerProperties = Field(default_factory=ContainerProperties)


class PolicyProperties(BodyPart):
    """Properties of a time-based retention."""

    immutability_period_since_creation_in_days: int = Field(ge=1, le=146000)
    allow_protected_append_writes: Literal[False] = False
    """The lab has no append blobs."""


class ImmutabilityPolicy(Body):
    """The retention of a container, never locked."""

    tags: None = None
    properties: PolicyProperties


class Age(BodyPart):
    """Age from which a rule deletes a blob."""

    days_after_creation_greater_than: int = Field(ge=0)


class BaseBlob(BodyPart):
    """Action of a rule on blobs: it deletes them."""

    delete: Age


class ManagementActions(BodyPart):
    """Actions of a rule."""

    base_blob: BaseBlob


class Filters(BodyPart):
    """Blobs to which a rule applies."""

    blob_types: list[Literal["blockBlob"]] = Field(min_length=1, max_length=1)
    prefix_match: list[str] = Field(min_length=1, max_length=10)


class Definition(BodyPart):
    """Actions and filters of a rule."""

    actions: ManagementActions
    filters: Filters


class ManagementRule(BodyPart):
    """A rule."""

    name: str
    enabled: Literal[True] = True
    type: Literal["Lifecycle"]
    definition: Definition


class Rules(BodyPart):
    """All rules."""

    rules: list[ManagementRule] = Field(min_length=1, max_length=100)


class ExpiryProperties(BodyPart):
    """Properties of an account's rules."""

    policy: Rules


class Expiry(Body):
    """The rules of an account."""

    tags: None = None
    properties: ExpiryProperties


def container_of(store: DocumentStore, account: ResourceDocument, name: str) -> ResourceDocument | None:
    """Return the container of this name that the resource manager made; None when there is none."""
    return store.get(f"{account.id}/blobServices/default/containers/{name}")


def containers_of(store: DocumentStore, account: ResourceDocument) -> list[ResourceDocument]:
    """Return the containers of an account that the resource manager has made."""
    beginning = f"{account.id}/blobServices/default/containers/".lower()
    return [document for document in store.of_type(TYPE) if document.id.lower().startswith(beginning)]


def place_of(account: ResourceDocument, container: ResourceDocument) -> str:
    """Return the first part of the keys under which a container's blobs are stored."""
    return f"{account.key} {container.hidden['uid']}"


def rules_of(store: DocumentStore, account: ResourceDocument) -> list[ManagementRule]:
    """Return the rules that delete old blobs."""
    policy = store.get(f"{account.id}/managementPolicies/default")
    return Expiry.model_validate(policy.body).properties.policy.rules if policy else []


def retention_s(store: DocumentStore, container: ResourceDocument) -> float:
    """Return the number of seconds for which a blob of the container cannot be changed or deleted; 0 without a
    policy."""
    policy = store.get(f"{container.id}/immutabilityPolicies/default")
    return DAY_S * policy.body["properties"]["immutabilityPeriodSinceCreationInDays"] if policy else 0.0


def _check_container(put: Put) -> None:
    _account(put)
    if not re.fullmatch(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*", put.id.name):
        raise ArmError(400, "InvalidResourceName", f"{put.id.name} is not a valid container name.")
    # Blobs are stored under this key, so that a new container does not have those of a former one with the same name.
    put.hidden["uid"] = put.old.hidden["uid"] if put.old else uuid.uuid4().hex


def _check_policy(put: Put) -> None:
    if put.store.get(put.id.parent or "") is None:
        raise ArmError(404, "ContainerNotFound", "The specified container does not exist.")
    _default(put)


def _check_expiry(put: Put) -> None:
    _account(put)
    _default(put)


def _account(put: Put) -> None:
    account = put.id.text.split("/blobServices/")[0].split("/managementPolicies/")[0]
    document = put.store.get(account)
    if document is None or document.type.lower() != storage_account.TYPE.lower():
        raise ArmError(404, "ParentResourceNotFound", f"The storage account '{account}' was not found.")


def _default(put: Put) -> None:
    if put.id.name != "default":
        raise invalid(f"{put.id.text}: its name must be default.")


def _view_policy(_store: DocumentStore, _document: ResourceDocument) -> dict[str, Any]:
    return {"state": "Unlocked"}


def refuse_other_etag(document: ResourceDocument, if_match: str | None) -> None:
    """Refuse to delete a retention when the request does not name the retention's ETag (pulumi/pulumi-azure-native
    issue 2156 shows the answer)."""
    if document.type.lower() == POLICY_TYPE.lower() and if_match not in (f'W/"{document.etag}"', "*"):
        message = "Operation not allowed on immutability policy with incorrect etag."
        raise ArmError(412, "ContainerImmutabilityPolicyFailure", message)


def _in_use(store: DocumentStore, container: ResourceDocument) -> None:
    """Refuse to delete a container with a retention. Azure refuses only while the container has a blob."""
    if retention_s(store, container):
        message = "The storage account container is protected from deletion due to its immutability policy."
        raise ArmError(409, "ContainerImmutabilityPolicyFailure", message)


SPECS = (
    TypeSpec(
        type=TYPE,
        model=BlobContainer,
        check=_check_container,
        in_use=_in_use,
        parent=storage_account.TYPE,
        read_only=frozenset({"hasImmutabilityPolicy", "hasLegalHold", "leaseStatus", "lastModifiedTime"}),
    ),
    TypeSpec(type=POLICY_TYPE, model=ImmutabilityPolicy, check=_check_policy, view=_view_policy, parent=TYPE,
             read_only=frozenset({"state"})),
    TypeSpec(type=EXPIRY_TYPE, model=Expiry, check=_check_expiry, parent=storage_account.TYPE),
)  # fmt: skip
