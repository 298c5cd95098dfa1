"""Checks that the credentials allow what `longhaul up` does on Azure, and that the subscription is prepared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from clouds.azure.names import STORAGE, resource_group_path
from clouds.azure.polled_operations import polling_rights
from clouds.azure.reader import AzureReader
from clouds.azure.roles import AUTOSCALER, DESTROYER
from clouds.azure.site import AzureSite
from clouds.azure.subscriptions import by_subscription
from clouds.azure.versions import (
    FEATURES_VERSION,
    PERMISSIONS_VERSION,
    RESOURCES_VERSION,
    ROLES_VERSION,
    STORAGE_VERSION,
)
from clouds.base.doctor import PAGE, CloudShare
from clouds.base.findings import Finding, NotAllowedError, ok, problem, warning
from contract.documents.backups import BackupClass

ROLE = Path(__file__).with_name("operator-role.json")
"""The role for the person who runs `longhaul up`, in the Azure CLI's format. It lists single operations, because a
pattern grows with the service: ``userAssignedIdentities/*`` came to include federated credentials, by which anybody
acts as the identity. Names: azure-docs ``role-based-access-control/permissions``, ``networking.md``, ``compute.md``,
``identity.md``, ``security.md``, ``storage.md``; of linked resources also ``vpn-gateway/roles-permissions.md``,
``virtual-network-service-endpoints-overview.md`` ("Provisioning") and Azure/OpenShift issue 186 (a snapshot needs
``disks/beginGetAccess/action`` on its disk)."""

DESTROY_ROLE = Path(__file__).with_name("destroy-role.json")
"""The role that makes and changes the storage of backups and deletes what cannot be made again, in the same format. A
PUT of an unlocked retention may shorten it (learn.microsoft.com, "Container-level write once, read many (WORM)
policies"), and the deletion of a resource group deletes accounts in it. A PUT of an account may name a key in any vault
to encrypt it, and without the key nobody reads the blobs ("Customer-managed keys for Azure Storage encryption",
"Revoke access"); rules of expiry may move blobs to the archive. So none of these is in the operator's role."""

PROVIDERS = ("Microsoft.Compute", "Microsoft.Network", "Microsoft.KeyVault", "Microsoft.ManagedIdentity")
"""Resource providers that must be registered in a subscription."""


AUTOSCALER_ROLE = Path(__file__).with_name("autoscaler-role.json")
"""The role of an autoscaler, in the resource manager's format."""

CONTAINERS = "blobServices/default/containers"
RETENTION = f"{STORAGE}/storageAccounts/blobServices/containers/immutabilityPolicies/write"
"""The right to set the retention of a container."""


FEATURES = (("Microsoft.Compute", "EncryptionAtHost"), ("Microsoft.Compute", "UseStandardSecurityType"))
"""Pairs of a resource provider and its feature. These features must be registered in a subscription. The second allows
``securityType: Standard`` (azure-compute-docs, "Trusted Launch FAQ")."""


def actions(role: Path = ROLE) -> tuple[str, ...]:
    """Return the actions of the operator's role, or of the other one."""
    return tuple(json.loads(role.read_text(encoding="utf-8"))["Actions"])


def permissions(share: CloudShare[AzureSite], reader: AzureReader, subscription: str) -> Iterator[Finding]:
    """Check that the roles' actions are granted: on each resource group that the file names, else at the subscription.
    Reading operations needs rights at the subscription, where their addresses are. An action is granted when some entry
    has it among its ``actions`` and not among its ``notActions``.

    Sources: learn.microsoft.com, "Permissions - List" and "Permissions - List For Resource Group" of the Authorization
    API; "Resource Manager authentication API", where the list is requested for a subscription."""
    root, scopes = f"/subscriptions/{subscription}", _scopes(share, subscription)
    at_root = _permissions(reader, root)
    for scope, names in scopes.items():
        granted = at_root if scope == root else _permissions(reader, scope)
        where, sites = _scope_name(scope), share.sites(*names)
        wanted = (*actions(), *polling_rights()) if scope == root else actions()
        if missing := _missing(share, subscription, wanted, granted):
            yield problem(
                f"Azure, in {where}: not granted: {missing}", *sites, do=f"the role of {PAGE}, assigned there"
            )
        else:
            yield ok(f"Azure: everything that {PAGE} lists is granted in {where}", *sites)
        yield _destroyer(granted, where, *sites)
        for name in names:
            yield from _retention(share, reader, name, granted)
    if root not in scopes and (missing := _missing(share, subscription, polling_rights(), at_root)):
        what = f"Azure, in {_scope_name(root)}: operations cannot be read: {missing}"
        yield problem(what, *share.sites(*by_subscription(share)[subscription]), do="the role Reader, assigned there")


def _missing(
    share: CloudShare[AzureSite], subscription: str, wanted: Sequence[str], granted: Sequence[dict[str, Any]]
) -> str:
    """Return the actions that are not granted, of those that the environment needs."""
    backups = _has_backups(share, subscription)
    needed = [action for action in dict.fromkeys(wanted) if backups or not action.startswith(f"{STORAGE}/")]
    return ", ".join(action for action in needed if not _granted(action, granted))


def _destroyer(granted: Sequence[dict[str, Any]], where: str, *sites: str) -> Finding:
    """Tell whether any right of the second role is granted. The operator needs them rarely."""
    may = [action for action in actions(DESTROY_ROLE) if _granted(action, granted)]
    if may:
        rights = ", ".join(may)
        return ok(f"Azure: of the role {DESTROYER}, needed rarely, these are granted in {where}: {rights}", *sites)
    needs = "the first `up` with `backups`, changes of their account, the removal of a site and `destroy` need it"
    return ok(f"Azure: the role {DESTROYER} is not granted in {where}: {needs} ({PAGE})", *sites)


def _retention(
    share: CloudShare[AzureSite], reader: AzureReader, name: str, granted: Sequence[dict[str, Any]]
) -> Iterator[Finding]:
    """Warn if a site's backups have no retention yet, and the right to set it is not granted: `up` would end half way.
    A container's ``hasImmutabilityPolicy``: learn.microsoft.com, "Blob Containers - Get"."""
    place = share.places[name]
    if not (place.is_control and place.has_backups) or _granted(RETENTION, granted):
        return
    account = f"{resource_group_path(place)}/providers/{STORAGE}/storageAccounts/{place.backup_account}"
    bare = [kept for kept in BackupClass if not _is_retained(reader, f"{account}/{CONTAINERS}/{kept}")]
    if bare:
        what = f"Azure: nothing protects backups in {', '.join(bare)} yet, and {RETENTION} is not granted"
        yield warning(
            what, *share.sites(name), do=f"the role {DESTROYER} of {PAGE}: `up` would end half way without it"
        )


def _is_retained(reader: AzureReader, container: str) -> bool:
    """Return whether a container is known to have a retention."""
    try:
        document = reader.find(container, version=STORAGE_VERSION)
    except NotAllowedError:
        return False
    return document is not None and bool(document["properties"].get("hasImmutabilityPolicy"))


def _permissions(reader: AzureReader, scope: str) -> list[dict[str, Any]]:
    return list(reader.pages(f"{scope}/providers/Microsoft.Authorization/permissions", version=PERMISSIONS_VERSION))


def _scopes(share: CloudShare[AzureSite], subscription: str) -> dict[str, list[str]]:
    """Return the names of sites by the scope at which the roles are assigned."""
    scopes: dict[str, list[str]] = {}
    for name in by_subscription(share)[subscription]:
        place = share.places[name]
        named = place.site.existing.resource_group is not None
        scope = resource_group_path(place) if named else f"/subscriptions/{subscription}"
        scopes.setdefault(scope, []).append(name)
    return scopes


def _scope_name(scope: str) -> str:
    head, _, group = scope.partition("/resourceGroups/")
    return f"the resource group {group}" if group else f"the subscription {head.rpartition('/')[2]}"


def _has_backups(share: CloudShare[AzureSite], subscription: str) -> bool:
    places = [share.places[name] for name in by_subscription(share)[subscription]]
    return any(place.has_backups and place.is_control for place in places)


def _granted(action: str, permissions: Sequence[dict[str, Any]]) -> bool:
    return any(
        any(_covers(pattern, action) for pattern in permission.get("actions") or [])
        and not any(_touches(pattern, action) for pattern in permission.get("notActions") or [])
        for permission in permissions
    )


def _covers(pattern: str, action: str) -> bool:
    """Return whether a granted pattern covers all of an action, which may be a pattern too. Azure's actions are not
    case-sensitive."""
    return fnmatchcase(action.lower(), pattern.lower())


def _touches(pattern: str, action: str) -> bool:
    """Return whether an exception removes any part of an action."""
    return _covers(pattern, action) or ("*" in action and _covers(action, pattern))


def scaling_role(share: CloudShare[AzureSite], reader: AzureReader, subscription: str) -> Iterator[Finding]:
    """If the environment's autoscaler may change pools, check that its role exists in a subscription with pools
    (learn.microsoft.com, "Role Definitions - List")."""
    names = [name for name in by_subscription(share)[subscription] if share.places[name].pools]
    if not names or not any(place.scales for place in share.places.values()):
        return
    path = f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions"
    roles = reader.pages(path, version=ROLES_VERSION)
    if any(str(role.get("name", "")).lower() == AUTOSCALER for role in roles):
        yield ok(f"Azure: the autoscaler's role exists in the subscription {subscription}", *share.sites(*names))
    else:
        what = f"Azure: the subscription {subscription} does not have the autoscaler's role, {AUTOSCALER}"
        yield problem(what, *share.sites(*names), do=f"the autoscaler's role of {PAGE}")


def registrations(share: CloudShare[AzureSite], reader: AzureReader, subscription: str) -> Iterator[Finding]:
    """Check that the resource providers and features are registered: learn.microsoft.com,
    "Providers - Get" (``registrationState``) and "Features - Get" (``properties.state``)."""
    root, sites = f"/subscriptions/{subscription}", share.sites(*by_subscription(share)[subscription])
    good: list[str] = []
    for provider in (*PROVIDERS, *((STORAGE,) if _has_backups(share, subscription) else ())):
        state = reader.get(f"{root}/providers/{provider}", version=RESOURCES_VERSION)["registrationState"]
        do = f"az provider register --subscription {subscription} --namespace {provider}"
        yield from _registration(provider, str(state), do, sites, good)
    for provider, feature in FEATURES:
        path = f"{root}/providers/Microsoft.Features/providers/{provider}/features/{feature}"
        state = reader.get(path, version=FEATURES_VERSION)["properties"]["state"]
        do = f"az feature register --subscription {subscription} --namespace {provider} --name {feature}"
        yield from _registration(f"{provider}/{feature}", str(state), f"{do}, then the provider again", sites, good)
    if good:
        yield ok(f"Azure: registered in the subscription {subscription}: {', '.join(good)}", *sites)


def _registration(what: str, state: str, do: str, sites: tuple[str, ...], good: list[str]) -> Iterator[Finding]:
    if state.lower() == "registered":
        good.append(what)
    else:
        yield problem(f"Azure: {what} is {state}, not Registered", *sites, do=do)
