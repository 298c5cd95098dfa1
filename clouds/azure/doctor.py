"""Checks, before anything is made in Azure, that everything needed is there and is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from clouds.azure import image_checks
from clouds.azure.named_parts import named_parts
from clouds.azure.names import resource_group
from clouds.azure.offers import offers
from clouds.azure.parts import AzureSiteParts
from clouds.azure.permissions import permissions, registrations, scaling_role
from clouds.azure.quotas import quotas
from clouds.azure.reader import AzureReader
from clouds.azure.site import AzureSite
from clouds.azure.subscriptions import by_region, by_subscription, is_example
from clouds.azure.versions import NETWORK_VERSION, RESOURCES_VERSION
from clouds.base.doctor import CloudDoctor, CloudShare, DoctorQuestion, compared
from clouds.base.findings import Finding, ok, problem
from clouds.base.local_machine import clock
from contract.azure import MANAGEMENT, SIGN_IN


class AzureCloudDoctor(CloudDoctor[AzureSite]):
    """Checks of what Azure must have and allow."""

    def services(self, share: CloudShare[AzureSite]) -> dict[str, tuple[str, ...]]:
        """Return the URLs of the services that are needed, each with the names of the sites that need it."""
        return dict.fromkeys((MANAGEMENT, SIGN_IN), tuple(share.places))

    def questions(self, share: CloudShare[AzureSite], reader: AzureReader | None = None) -> Iterator[DoctorQuestion]:
        """Yield the questions for each subscription, for each region in it and for each site. Nothing is asked about an
        example's subscription, because it does not exist."""
        reader = reader or AzureReader()
        yield DoctorQuestion(name="credentials", where=(share.file,), run=partial(example_subscriptions, share))
        yield DoctorQuestion(name="durations", where=(share.file,), run=partial(durations, share))
        yield DoctorQuestion(name="clock", where=("this machine",), run=partial(clock, share.here, MANAGEMENT))
        share = without_examples(share)
        for subscription, names in by_subscription(share).items():
            for check, look in (
                ("credentials", credentials),
                ("permissions", permissions),
                ("permissions", scaling_role),
                ("registrations", registrations),
                ("addresses", addresses),
            ):
                yield DoctorQuestion(
                    name=check, where=share.sites(*names), run=partial(look, share, reader, subscription)
                )
        for (subscription, region), names in by_region(share).items():
            run = partial(quotas, share, reader, subscription, region)
            yield DoctorQuestion(name="quotas", where=share.sites(*names), run=run)
        for name, place in share.places.items():
            where = share.sites(name)
            yield DoctorQuestion(name="machine-types", where=where, run=partial(offers, share, reader, name))
            yield DoctorQuestion(name="images", where=where, run=partial(image_checks.definition, share, reader, name))
            yield DoctorQuestion(name="images", where=where, run=partial(image_checks.image, share, reader, name))
            if AzureSiteParts().existing_parts(place.site):
                yield DoctorQuestion(name="existing", where=where, run=partial(named_parts, share, reader, name))


def without_examples(share: CloudShare[AzureSite]) -> CloudShare[AzureSite]:
    """Return the share with only the sites whose subscription may exist."""
    kept = {name: place for name, place in share.places.items() if share.lab or not is_example(place.site)}
    return replace(share, places=kept)


def example_subscriptions(share: CloudShare[AzureSite]) -> Iterator[Finding]:
    """Report subscriptions that exist in no cloud."""
    there = without_examples(share).places
    for name, place in share.places.items():
        if name not in there:
            yield problem(
                f"the subscription {place.site.subscription} is an example's: no cloud has it",
                share.at("sites", name, "subscription"),
                do="write your own (`az account show`)",
            )


def credentials(share: CloudShare[AzureSite], reader: AzureReader, subscription: str) -> Iterator[Finding]:
    """Check that a subscription is visible and enabled, and that it trusts the tenant in the file: learn.microsoft.com,
    "Subscriptions - Get" (``displayName``, ``state``, ``tenantId``)."""
    names = by_subscription(share)[subscription]
    document = reader.get(f"/subscriptions/{subscription}", version=RESOURCES_VERSION)
    tenant, state = str(document["tenantId"]), str(document["state"])
    wrong = [name for name in names if share.places[name].site.tenant != tenant]
    for name in wrong:
        declared = share.places[name].site.tenant
        yield problem(
            f"the subscription {subscription} belongs to the tenant {tenant}, but the file says {declared}",
            share.at("sites", name, "tenant"),
            do=f"tenant: {tenant}, unless the subscription is the wrong one",
        )
    if state != "Enabled":
        yield problem(
            f"the subscription {subscription} is {state}",
            *(share.at("sites", name, "subscription") for name in names),
            do="have it enabled, or name another one",
        )
    elif not wrong:
        message = f"Azure: the subscription {subscription} ({document.get('displayName')}) of the tenant {tenant}"
        yield ok(message, *share.sites(*names))


def addresses(share: CloudShare[AzureSite], reader: AzureReader, subscription: str) -> Iterator[Finding]:
    """Report virtual networks of the subscription, in any region, that overlap the address plan: learn.microsoft.com,
    "Virtual Networks - List All" (``properties.addressSpace.addressPrefixes``)."""
    names = by_subscription(share)[subscription]
    made = [name for name in names if share.places[name].site.existing.network is None]
    ours = {resource_group(share.places[name]).lower() for name in made}
    named = {(share.places[name].site.existing.network or "").lower() for name in names}
    path = f"/subscriptions/{subscription}/providers/Microsoft.Network/virtualNetworks"
    others = [
        (f"the virtual network {network['name']} in {_group(network['id'])}, {network['location']}", prefixes)
        for network in reader.pages(path, version=NETWORK_VERSION)
        if _group(network["id"]).lower() not in ours and network["id"].lower() not in named
        for prefixes in ((network["properties"].get("addressSpace") or {}).get("addressPrefixes") or [],)
    ]
    yield from compared(share, others, f"virtual networks in the subscription {subscription}")


def durations(share: CloudShare[AzureSite]) -> Iterator[Finding]:
    """Report operations that take long, if the time has a source: VPN gateways (components/azure/vpn.py,
    docs/getting-started.md, 7) and role assignments (components/control_plane/secrets.py, by learn.microsoft.com,
    "Troubleshoot Azure RBAC")."""
    gateways = [name for name, place in share.places.items() if place.has_tunnels]
    if gateways:
        what = "making a VPN gateway takes Azure half an hour or more; everything else continues meanwhile"
        yield ok(what, *share.sites(*gateways))
    control = [name for name, place in share.places.items() if place.is_control]
    if control:
        what = "role assignments take up to ten minutes to come into force on Azure: the first `up` waits for them"
        yield ok(what, *share.sites(*control))


def _group(resource: str) -> str:
    """Return the resource group in a resource's id."""
    parts = resource.split("/")
    return parts[4] if len(parts) > 4 else ""
