"""Rights to the resources that a written resource names: the resource manager checks each of them as well, and answers
403 ``LinkedAuthorizationFailed`` (Azure/OpenShift issue 186 shows the answer for a snapshot's disk).

Sources: azure-docs ``role-based-access-control/permissions/networking.md`` (``…/join/action``, ``peer/action``),
``compute.md``, ``identity.md`` (``assign/action``, "RBAC action for assigning an existing user assigned identity to a
resource"), ``vpn-gateway/roles-permissions.md``, ``virtual-network-service-endpoints-overview.md`` ("Provisioning").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from clouds.azure.names import STORAGE
from lab.cloud.azure.access import Principal, may
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.ids import InvalidIdError, parse_id
from lab.cloud.store import DocumentStore

_NETWORK: Final = "Microsoft.Network"
_JOINED: Final = {
    f"{_NETWORK}/{kind}": f"{_NETWORK}/{kind}/join/action"
    for kind in (
        "loadBalancers/backendAddressPools",
        "natGateways",
        "networkInterfaces",
        "networkSecurityGroups",
        "publicIPAddresses",
        "virtualNetworks/subnets",
    )
}
_IDENTITY: Final = "Microsoft.ManagedIdentity/userAssignedIdentities"
_ASSIGNED: Final = {_IDENTITY: f"{_IDENTITY}/assign/action"}
_SERVED: Final = {
    f"{_NETWORK}/virtualNetworks/subnets": f"{_NETWORK}/virtualNetworks/subnets/joinViaServiceEndpoint/action"
}
_RIGHTS: Final = {
    f"{_NETWORK}/virtualNetworks/subnets": _JOINED,
    f"{_NETWORK}/natGateways": _JOINED,
    f"{_NETWORK}/networkInterfaces": _JOINED,
    f"{_NETWORK}/loadBalancers": _JOINED,
    f"{_NETWORK}/virtualNetworkGateways": _JOINED,
    f"{_NETWORK}/virtualNetworks/virtualNetworkPeerings": {
        f"{_NETWORK}/virtualNetworks": f"{_NETWORK}/virtualNetworks/peer/action"
    },
    f"{_NETWORK}/privateDnsZones/virtualNetworkLinks": {
        f"{_NETWORK}/virtualNetworks": f"{_NETWORK}/virtualNetworks/join/action"
    },
    "Microsoft.Compute/virtualMachines": _JOINED | _ASSIGNED,
    "Microsoft.Compute/virtualMachineScaleSets": _JOINED | _ASSIGNED,
    "Microsoft.Compute/snapshots": {"Microsoft.Compute/disks": "Microsoft.Compute/disks/beginGetAccess/action"},
    "Microsoft.KeyVault/vaults": _SERVED,
    f"{STORAGE}/storageAccounts": _SERVED,
}
"""Actions by the type of the written resource and the type of the named one."""
RIGHTS: Final = {
    written.lower(): {named.lower(): action for named, action in actions.items()}
    for written, actions in _RIGHTS.items()
}


def require_linked(store: DocumentStore, principal: Principal, *, type: str, scope: str, body: Any) -> None:
    """Refuse to write a resource that names others which the principal may not join, assign or copy.

    Raises:
        ArmError: 403 LinkedAuthorizationFailed.
    """
    actions = RIGHTS.get(type.lower(), {})
    for named in dict.fromkeys(_ids(body)):
        action = actions.get(_type(named))
        if action and not may(store, principal, action=action, scope=named):
            raise ArmError(
                403,
                "LinkedAuthorizationFailed",
                f"The client '{principal.app_id}' with object id '{principal.object_id}' has permission to perform "
                f"action '{type}/write' on scope '{scope}'; however, it does not have permission to perform action(s) "
                f"'{action}' on the linked scope(s) '{named}' (respectively) or the linked scope(s) are invalid.",
            )


def _ids(value: Any) -> Iterator[str]:
    """Yield the resource ids among the keys and values of a body."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _ids(key)
            yield from _ids(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _ids(item)
    elif isinstance(value, str) and value.lower().startswith("/subscriptions/"):
        yield value


def _type(resource: str) -> str:
    try:
        return (parse_id(resource).type or "").lower()
    except InvalidIdError:
        return ""
