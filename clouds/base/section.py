"""Base class and field types that all sections of the environment file share."""

from __future__ import annotations

from ipaddress import IPv4Network
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_after_validator_function


class Section(BaseModel):
    """A frozen section of the environment file that rejects unknown keys.

    The docstring under a field is its reference documentation. ``examples`` holds a valid value where bounds and
    choices alone do not show one: errors and editors display it. ``patternErrorMessage`` describes a pattern in words;
    the YAML language server displays this key too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class _Written:
    """Refuses a key without a value, which would look as if the section were declared."""

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        name = next(arg.__name__ for arg in get_args(source) if arg is not NoneType)

        def refuse(value: Any) -> Any:
            if value is None:
                raise PydanticKnownError("model_type", {"class_name": name})
            return value

        return no_info_after_validator_function(refuse, handler(source))

    @staticmethod
    def __get_pydantic_json_schema__(schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        options: list[JsonSchemaValue] = handler(schema)["anyOf"]
        return next(option for option in options if option.get("type") != "null")


SectionT = TypeVar("SectionT", bound=Section)

LeftOut = Annotated[SectionT | None, _Written]
"""A section that may be left out, and is None then."""

Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
        max_length=20,
        json_schema_extra={
            "patternErrorMessage": "lower-case letters, digits, single hyphens, a letter first, at most 20"
        },
    ),
]
"""A part of host names and of the clouds' resource names. Azure refuses two hyphens in a row in a vault's name
(learn.microsoft.com, "Naming rules and restrictions for Azure resources")."""

DnsZone = Annotated[
    str,
    Field(
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]{2,63}$",
        max_length=253,
        json_schema_extra={"patternErrorMessage": "a DNS name, in lower case, without a dot at the end"},
    ),
]
"""A zone of the DNS."""

FILE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$"

FileName = Annotated[
    str,
    Field(
        pattern=FILE_NAME,
        json_schema_extra={
            "patternErrorMessage": "the name of a file in the same folder: letters, digits, `.`, `_`, `-`, at most 128"
        },
    ),
]
"""A file in the folder of the file that names it. A path would let anyone who changes the file have any other file read
and quoted."""

Range = Annotated[
    IPv4Network, WithJsonSchema({"type": "string", "format": "ipv4network", "examples": ["198.51.100.0/24"]})
]
"""An IPv4 range in CIDR notation, without host bits."""

LABEL = r"([A-Za-z0-9][A-Za-z0-9_.-]*)?[A-Za-z0-9]"
"""Kubernetes' qualified name (k8s.io/apimachinery, ``validation.IsQualifiedName``), without its limit of length."""

LabelKey = Annotated[
    str,
    Field(
        pattern=rf"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?{LABEL}$",
        max_length=317,
        json_schema_extra={"patternErrorMessage": "a Kubernetes label key, `name` or `domain/name`"},
    ),
]
"""Key of a node label or taint: a DNS name of at most 253 characters, a slash and a name of at most 63."""

ExtendedResource = Annotated[
    str,
    Field(
        pattern=rf"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/{LABEL}$",
        max_length=317,
        examples=["smarter-devices/fuse"],
        json_schema_extra={"patternErrorMessage": "the name of a device plugin's resource, `domain/name`"},
    ),
]
"""Name of a resource that a device plugin registers (kubernetes.io, "Extended resources")."""

LabelValue = Annotated[
    str,
    Field(
        pattern=rf"^({LABEL})?$",
        max_length=63,
        json_schema_extra={"patternErrorMessage": "letters, digits, `-`, `_` and `.`, at most 63"},
    ),
]
"""Value of a node label or taint; may be empty."""

GpuModel = Annotated[
    str,
    Field(
        pattern=r"^([A-Za-z0-9]+([ -][A-Za-z0-9]+)*)?$",
        max_length=64,
        examples=["A100 80GB"],
        json_schema_extra={"patternErrorMessage": "words of letters and digits, as `nvidia-smi -L` names the GPU"},
    ),
]
"""Words of a GPU's name; may be empty."""

GpuNvlinks = Annotated[int, Field(ge=0, le=18)]
"""Number of NVLinks of a GPU. NVML counts at most 18 (NVML_NVLINK_MAX_LINKS)."""

GpuCheck = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    Field(max_length=32, examples=[["/usr/local/bin/gpu-burn", "60"]]),
]
"""A program and its arguments."""

HostKey = Annotated[
    str,
    Field(
        pattern=r"^(ssh-ed25519|ecdsa-sha2-nistp256|ssh-rsa) [A-Za-z0-9+/]+=*$",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8VQtMAAl2UUtHkVsmz0sSN0oGVSwoL2Ktm4xLZLyXS"],
        json_schema_extra={"patternErrorMessage": "type and key as `ssh-keyscan` prints them, without the host"},
    ),
]
"""A machine's SSH host key, which connections must match."""

Uuid = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        examples=["00000000-0000-4000-8000-000000000001"],
        json_schema_extra={"patternErrorMessage": "a UUID in lower case"},
    ),
]
"""An id that Azure assigns."""

IMAGINARY = "00000000-0000-"
"""First digits of ids that exist only in examples and labs. Azure assigned them to nothing."""

Principal = Uuid
"""Object id of a person or program in Entra."""
