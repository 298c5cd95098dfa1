"""Checks that the credentials allow what `longhaul up` does on Azure, and that the subscription is prepared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from clouds.azure.names import STORAGE
from clouds.azure.polled_operations import polling_rights
from clouds.azure.reader import AzureReader
from clouds.azure.roles import AUTOSCALER
from clouds.azure.site import AzureSite
from clouds.azure.subscriptions import by_subscription
from clouds.azure.versions import FEATURES_VERSION, PERMISSIONS_VERSION, RESOURCES_VERSION, ROLES_VERSION
from clouds.base.doctor import PAGE, CloudShare
from clouds.base.findings import Finding, ok, problem

ROLE = Path(__file__).with_name("operator-role.json")
"""The role for the person who runs `longhaul up`, in the Azure CLI's format."""

PROVIDERS = ("Microsoft.Compute", "Microsoft.Network", "Microsoft.KeyVault", "Microsoft.ManagedIdentity")
"""Resource providers that must be registered in a subscription."""


AUTOSCALER_ROLE = Path(__file__).with_name("autoscaler-role.json")
"""The role of an autoscaler, in the resource manager's format."""


FEATURES = (("Microsoft.Compute", "EncryptionAtHost"), ("Microsoft.Compute", "UseStandardSecurityType"))
"""Pairs of a resource provider and its feature. These features must be registered in a subscription. The second allows
``securityType: Standard`` (azure-compute-docs, "Trusted Launch FAQ")."""


def actions() -> tuple[str, ...]:
    """Return the actions of the operator's role."""
    return tuple(json.loads(ROLE.read_text(encoding="utf-8"))["Actions"])


def permissions(share: CloudShare[AzureSite], reader: AzureReader, subscription: str) -> Iterator[Finding]:
    """Check that the role's actions, and reading the operations that these start, are granted at the subscription or
    above it. An action is granted when some entry has it among its ``actions`` and not among its ``notActions``.

    Sources: learn.microsoft.com, "Permissions - List" of the Authorization API; "Resource Manager authentication API",
    where that list is requested for a subscription."""
    path = f"/subscriptions/{subscription}/providers/Microsoft.Authorization/permissions"
    granted = list(reader.pages(path, version=PERMISSIONS_VERSION))
    backups = _has_backups(share, subscription)
    polled = [right for right in polling_rights() if not any(_covers(action, right) for action in actions())]
    wanted = [action for action in (*actions(), *polled) if backups or not action.startswith(f"{STORAGE}/")]
    missing = [action for action in wanted if not _granted(action, granted)]
    sites = share.sites(*by_subscription(share)[subscription])
    if missing:
        what = f"Azure, in the subscription {subscription}: not granted: {', '.join(missing)}"
        yield problem(what, *sites, do=f"the role of {PAGE}, assigned at the subscription")
    else:
        yield ok(f"Azure: everything that {PAGE} lists is granted in the subscription {subscription}", *sites)


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
