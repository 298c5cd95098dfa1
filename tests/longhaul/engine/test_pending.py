"""Resources that a killed run was making."""

from __future__ import annotations

import pytest

from longhaul.engine.events import EngineDiagnostic
from longhaul.engine.pending import EXISTS, Pending, existing_resources

URN = "urn:pulumi:dev::longhaul::longhaul:Cluster$azure-native:compute:VirtualMachine::dev-etcd-0"
IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/dev-etcd-0"


def make(urn: str = URN) -> Pending:
    return Pending(urn=urn, resource={"urn": urn})


def test_it_is_named_as_the_program_names_it() -> None:
    assert str(make()) == "dev-etcd-0 (azure-native:compute:VirtualMachine)"


@pytest.mark.parametrize(
    "message",
    [
        f"cannot create already existing resource '{IDENTITY}'",
        f'cannot create already existing resource "{IDENTITY}"',
        f"error: cannot create already existing subresource '{IDENTITY}'\n",
    ],
)
def test_the_providers_refusal_says_the_id(message: str) -> None:
    match = EXISTS.search(message)
    assert match is not None
    assert match["id"] == IDENTITY


def test_only_what_was_pending_is_found() -> None:
    """A resource of the same name that somebody else made must not be adopted."""
    message = f"cannot create already existing resource '{IDENTITY}'"
    other = URN.replace("etcd-0", "etcd-1")
    errors = [(other, message), (URN, "something else"), (URN, message)]
    found = existing_resources([EngineDiagnostic(urn=urn, message=said) for urn, said in errors], [make()])
    assert found == {make(): IDENTITY}
