"""Checks for each resource type: the contracts that its inputs must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.contracts import aws_calls, aws_check, azure_limits, sdk_types
from tests.contracts.faults import Fault
from tests.support.declared import Declared

Check = Callable[[Declared], Iterator[Fault]]


class NoContractError(Exception):
    """A resource type for which nothing is known."""


@dataclass(frozen=True, kw_only=True)
class Unchecked:
    """Reason why a resource type has no contract."""

    reason: str


OURS = "pulumi-python:dynamic/longhaul:"

UNCHECKED: Mapping[str, Unchecked] = {
    f"{OURS}{name}": Unchecked(reason=f"the program's own: no cloud publishes a type for it; {what}")
    for name, what in {
        "Certificate": "a secret of the vault",
        "CertificateAuthority": "a secret of the vault",
        "Secret": "a secret of the vault",
        "TunnelKey": "a secret of the vault",
        "Setting": "a secret of the vault",
        "VaultAccess": "awaits that a role is in force",
        "Readiness": "awaits a machine",
        "Founded": "a note in the vault",
        "DestructionGuard": "keeps nothing in a cloud",
        "Held": "keeps nothing in a cloud",
    }.items()
}
"""Types that are not checked against anything here."""

CLOUDS: Mapping[str, tuple[Check, ...]] = {
    "aws": (sdk_types.check, aws_check.check),
    "azure-native": (sdk_types.check, azure_limits.check),
    # A real API server checks them as well: tests/components/objects/test_stack.py.
    "kubernetes": (sdk_types.check,),
    "pulumi": (sdk_types.check,),
}
"""Checks by the package of a type."""

AZURE_TYPES = frozenset({"authorization:RoleAssignment", *azure_limits.NAMES})
"""Azure's types whose rules for names are known."""


def has_contract(type_: str) -> bool:
    """Return whether a resource type is checked against something."""
    package, _, rest = type_.partition(":")
    if package == "aws":
        return type_ in aws_calls.CALLS
    return rest in AZURE_TYPES if package == "azure-native" else package in CLOUDS


def faults(resource: Declared) -> Iterator[Fault]:
    """Yield everything wrong with one resource; :class:`NoContractError` when its type is unknown here."""
    if resource.type in UNCHECKED:
        return
    if not has_contract(resource.type):
        raise NoContractError(
            f"{resource.type} has no contract: add its operations to tests/contracts/aws_calls.py, its name to "
            "tests/contracts/azure_limits.py, or a reason to UNCHECKED in tests/contracts/contracts.py"
        )
    for check in CLOUDS[resource.type.partition(":")[0]]:
        yield from check(resource)
