"""Resource types that the lab's Azure has."""

from __future__ import annotations

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import (
    blob_container,
    data_disk,
    gateway_connection,
    load_balancer,
    local_network_gateway,
    nat_gateway,
    network_interface,
    network_security_group,
    private_dns_link,
    private_dns_record,
    private_dns_zone,
    public_ip_address,
    resource_group,
    role_assignment,
    scale_set,
    scale_set_instance,
    snapshot,
    storage_account,
    subnet,
    user_assigned_identity,
    vault,
    virtual_machine,
    virtual_network,
    virtual_network_gateway,
    virtual_network_peering,
)
from lab.cloud.azure.schema.base import TypeSpec


def known_types() -> dict[str, TypeSpec]:
    """Return every type by its name in lower case."""
    modules = (
        data_disk,
        gateway_connection,
        load_balancer,
        local_network_gateway,
        nat_gateway,
        network_interface,
        network_security_group,
        private_dns_link,
        private_dns_record,
        private_dns_zone,
        public_ip_address,
        resource_group,
        role_assignment,
        scale_set,
        snapshot,
        storage_account,
        subnet,
        user_assigned_identity,
        vault,
        virtual_machine,
        virtual_network,
        virtual_network_gateway,
        virtual_network_peering,
    )
    specs = (*(module.SPEC for module in modules), *scale_set_instance.SPECS, *blob_container.SPECS)
    return {spec.type.lower(): spec for spec in specs}


def spec_of(types: dict[str, TypeSpec], type: str) -> TypeSpec:
    """Return the description of a type.

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
