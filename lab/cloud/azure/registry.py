"""The resource types that the lab's Azure knows."""

from __future__ import annotations

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import (
    load_balancer,
    nat_gateway,
    network_interface,
    network_security_group,
    private_dns_link,
    private_dns_record,
    private_dns_zone,
    public_ip_address,
    resource_group,
    role_assignment,
    storage_account,
    subnet,
    user_assigned_identity,
    vault,
    virtual_machine,
    virtual_network,
)
from lab.cloud.azure.schema.base import TypeSpec


def known_types() -> dict[str, TypeSpec]:
    """Every type by its name in lower case."""
    modules = (
        load_balancer,
        nat_gateway,
        network_interface,
        network_security_group,
        private_dns_link,
        private_dns_record,
        private_dns_zone,
        public_ip_address,
        resource_group,
        role_assignment,
        storage_account,
        subnet,
        user_assigned_identity,
        vault,
        virtual_machine,
        virtual_network,
    )
    return {module.SPEC.type.lower(): module.SPEC for module in modules}


def spec_of(types: dict[str, TypeSpec], type: str) -> TypeSpec:
    """The type's description.

    Raises:
        ArmError: 400 when the lab does not have the type.
    """
    spec = types.get(type.lower())
    if spec is None:
        raise ArmError(
            400,
            "InvalidResourceType",
            f"The lab's Azure does not have the resource type '{type}'. It has: "
            f"{', '.join(sorted(known.type for known in types.values()))}.",
        )
    return spec
