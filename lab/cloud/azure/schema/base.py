"""Base of all resource types: the frame of a body, references, and the description of a type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from lab.cloud.azure.errors import ArmError, invalid, invalid_reference, not_provisioned, retryable, unsupported
from lab.cloud.azure.ids import InvalidIdError, ResourceId, parse_id
from lab.cloud.store import DocumentStore, ResourceDocument

READ_ONLY_ANYWHERE = frozenset({"etag", "provisioningState", "resourceGuid", "systemData"})
READ_ONLY_ON_TOP = frozenset({"id", "name", "type"})


class BodyPart(BaseModel):
    """Part of a body. A property that is not declared is refused, never dropped."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)


class Ref(BodyPart):
    """A reference to another resource."""

    id: str


class Body(BodyPart):
    """Frame of a resource without location."""

    tags: dict[str, str] | None = None


class Located(Body):
    """Frame of a resource that is in a region."""

    location: str


class GlobalBody(Body):
    """Frame of a resource whose location is always ``global``."""

    location: Literal["global", "Global"] = "global"


@dataclass(frozen=True, kw_only=True)
class SubscriptionSettings:
    """Ids and images of the lab's subscription."""

    tenant: str
    subscription: str
    images: Mapping[str, str]
    """Maps image ids, as in ``storageProfile.imageReference.id``, to the hypervisor's names for them."""
    has_secret: Callable[[str, str], bool]
    """Returns whether a vault, by its name, has a secret of this name."""


@dataclass(kw_only=True)
class Put:
    """One PUT request. The type's ``check`` may complete ``body`` and ``hidden``."""

    store: DocumentStore
    settings: SubscriptionSettings
    id: ResourceId
    body: dict[str, Any]
    old: ResourceDocument | None
    hidden: dict[str, Any] = field(default_factory=dict)

    def find(self, resource_id: str, *, type: str) -> ResourceDocument:
        """Return the referenced document.

        Raises:
            ArmError: 400 when the id is malformed, of another type, or of a resource that does not exist; 429 when a
                change of that resource is under way.
        """
        try:
            parsed = parse_id(resource_id)
        except InvalidIdError as problem:
            raise ArmError(400, "LinkedInvalidPropertyId", f"{problem} (in {self.id.text})") from problem
        document = self.store.get(resource_id)
        if (parsed.type or "").lower() != type.lower():
            raise invalid(f"{resource_id}, referenced by {self.id.text}, is not of type {type}.")
        if document is None:
            raise invalid_reference(resource_id, by=self.id.text)
        if document.hidden.get("state") in ("Updating", "Deleting"):
            raise retryable(not_provisioned(document.id, by=self.id.text, state=document.hidden["state"]))
        return document

    def same_region(self, other: ResourceDocument) -> None:
        """Refuse a reference to a resource in another region."""
        if normal_location(other.body.get("location", "")) != normal_location(self.body.get("location", "")):
            raise invalid_reference(other.id, by=self.id.text)


ModelType = type[Body]


def _nothing(_put: Put) -> None:
    return None


def _no_view(_store: DocumentStore, _document: ResourceDocument) -> dict[str, Any]:
    return {}


def _not_in_use(_store: DocumentStore, _document: ResourceDocument) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class TypeSpec:
    """A resource type that the lab's Azure knows."""

    type: str
    model: ModelType
    check: Callable[[Put], None] = _nothing
    """Refuses requests that the cloud refuses for reasons beyond the schema: references, addresses, quotas."""
    view: Callable[[DocumentStore, ResourceDocument], dict[str, Any]] = _no_view
    """Returns read-only properties, which are merged under ``properties`` in every answer."""
    in_use: Callable[[DocumentStore, ResourceDocument], None] = _not_in_use
    """Refuses a deletion that the cloud refuses."""
    read_only: frozenset[str] = frozenset()
    """Names of properties that only answers contain; in a request they are ignored, as in the cloud."""
    parent: str | None = None
    """Type of the containing resources, which are deleted together with their parts; None for a top-level type."""


def parse_body(spec: TypeSpec, body: Any, resource_id: ResourceId) -> dict[str, Any]:
    """Check a request body against the type's schema, and return it with its defaults.

    Raises:
        ArmError: 400, naming every property that is wrong or that the lab does not honour.
    """
    if not isinstance(body, dict):
        raise ArmError(400, "InvalidRequestContent", "The request content was invalid: it is not a JSON object.")
    cleaned = _strip(body, spec.read_only)
    cleaned = {key: value for key, value in cleaned.items() if key not in READ_ONLY_ON_TOP}
    try:
        parsed = spec.model.model_validate(cleaned)
    except ValidationError as problem:
        raise _refusal(spec, resource_id, problem) from problem
    return parsed.model_dump(mode="json", by_alias=True, exclude_none=True)


def normal_location(text: str) -> str:
    """Normalize a region: case and spaces do not count, so ``West Europe`` is ``westeurope``."""
    return text.replace(" ", "").lower()


def _strip(value: Any, read_only: frozenset[str]) -> Any:
    if isinstance(value, dict):
        dropped = READ_ONLY_ANYWHERE | read_only
        return {k: _strip(v, read_only) for k, v in value.items() if k not in dropped and v is not None}
    if isinstance(value, list):
        return [_strip(item, read_only) for item in value]
    return value


def _refusal(spec: TypeSpec, resource_id: ResourceId, problem: ValidationError) -> ArmError:
    errors = problem.errors(include_url=False, include_input=False)
    unknown = [_where(error["loc"]) for error in errors if error["type"] == "extra_forbidden"]
    wrong = [f"{_where(error['loc'])}: {error['msg']}" for error in errors if error["type"] != "extra_forbidden"]
    if wrong:
        return invalid(f"{spec.type} '{resource_id.name}': {'; '.join(wrong)}", target=_where(errors[0]["loc"]))
    return unsupported(
        f"{spec.type} '{resource_id.name}': the lab does not honour {', '.join(unknown)}. Leave it out, or add it to "
        f"the type's schema and to what the lab does."
    )


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)
