"""Bodies and errors of the secrets API, in Key Vault's words."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from aiohttp import web
from pydantic import Field, ValidationError

from lab.cloud.azure.schema.base import BodyPart

T = TypeVar("T", bound=BodyPart)


class Attributes(BodyPart):
    """Attributes of a version that a caller can set."""

    enabled: bool | None = None
    nbf: int | None = None
    exp: int | None = None


class SetSecret(BodyPart):
    """Body of a request that sets a secret."""

    value: str
    content_type: str | None = None
    tags: dict[str, str] | None = Field(default=None, max_length=15)
    attributes: Attributes = Field(default_factory=Attributes)


class UpdateSecret(BodyPart):
    """Body of a request that changes a version, except its value."""

    content_type: str | None = None
    tags: dict[str, str] | None = Field(default=None, max_length=15)
    attributes: Attributes = Field(default_factory=Attributes)


class KeyVaultError(Exception):
    """A refusal, in Key Vault's words."""

    def __init__(self, status: int, code: str, message: str, *, inner: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        error: dict[str, Any] = {"code": code, "message": message}
        if inner:
            error["innererror"] = {"code": inner}
        self.document = {"error": error}


def unknown(request: web.Request) -> KeyVaultError:
    """Return 400 for a path that the lab's vault does not have."""
    return KeyVaultError(400, "BadParameter", f"The lab's key vault does not answer {request.method} {request.path}.")


def parse(model: type[T], body: Any) -> T:
    """Check a body, and return it as ``model``.

    Raises:
        KeyVaultError: 400; the message names the wrong property, never a value.
    """
    try:
        return model.model_validate(body)
    except ValidationError as problem:
        places = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}"
            for e in problem.errors(include_url=False, include_input=False)
        )
        raise KeyVaultError(400, "BadParameter", f"The request body is not valid: {places}") from None


async def json_of(request: web.Request) -> Any:
    """Return the request's body.

    Raises:
        KeyVaultError: 400 when it is not JSON.
    """
    try:
        return await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise KeyVaultError(400, "BadParameter", "The request body is not JSON.") from None
