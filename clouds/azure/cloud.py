"""Azure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from clouds.azure.site import AzureSite
from clouds.base.cloud import MADE, Cloud, Picture

if TYPE_CHECKING:
    from clouds.azure.checks import AzureSiteChecks
    from clouds.azure.control import AzureControlAccess
    from clouds.azure.doctor import AzureCloudDoctor
    from clouds.azure.groups import AzurePoolGroups
    from clouds.azure.images import AzureMachineImages
    from clouds.azure.limits import AzureSiteLimits
    from clouds.azure.listing import AzureResourceListing
    from clouds.azure.machine_types import AzureMachineTypes
    from clouds.azure.names import AzureResourceNames
    from clouds.azure.parts import AzureSiteParts
    from clouds.azure.policy import AzurePolicyChecks
    from clouds.azure.prices import AzurePriceList
    from clouds.azure.quarantine import AzurePoolQuarantine
    from clouds.azure.resource_types import AzureResourceTypes
    from clouds.azure.tag_rules import AzureTagRules
    from clouds.azure.tunnels import AzureSiteTunnels
    from clouds.base.live_groups import LiveGroup
    from clouds.base.machine_lists import MachineList
    from clouds.base.place import Place
    from clouds.base.ranges import SiteRanges
    from contract.documents.node_controller import NodeEnvironment, NodeSite


class Azure(Cloud[AzureSite]):
    """The cloud of every :class:`AzureSite`."""

    kind = "azure"
    title = "Azure"
    site_type = AzureSite
    picture = Picture(
        title="Azure",
        light="#0b63c4",
        dark="#5aa9ff",
        # A subnet spans all zones.
        zones_have_ranges=False,
        gateway_in_subnet=True,
    )
    holds_control_plane = True
    provider = "azure-native"
    administrator_keys = MappingProxyType({"ssh-ed25519": 256, "ssh-rsa": 2048})
    """Accepted key types, each with its minimum size in bits
    (learn.microsoft.com/azure/virtual-machines/linux/create-ssh-keys-detailed, "Supported SSH key formats")."""
    service_domains = ("azure.com", "azure.net", "blob.core.windows.net", "microsoftonline.com", "sts.windows.net")
    user_data_limit = 65535
    """Largest size in bytes of a machine's user data, before the base64 encoding that the API needs (compute REST API,
    "OSProfile.customData")."""

    def account_scope(self, site: AzureSite) -> str:
        """Return the subscription's id."""
        return site.subscription

    def immutable_settings(self, site: AzureSite, ranges: SiteRanges) -> dict[str, str]:
        """Return the region, the subscription, the tenant, and the existing resource group, network and DNS
        zone of the site."""
        there = {key: getattr(site.existing, key) for key in ("resource_group", "network", "dns_zone")}
        return {
            "region": site.region,
            "subscription": site.subscription,
            "tenant": site.tenant,
            # Azure's names and ids are not case-sensitive.
            **{f"existing.{key}": value.lower() if value else MADE for key, value in there.items()},
        }

    def live_groups(self, place: Place[AzureSite], pool: str) -> Mapping[str, LiveGroup]:
        """Return the pool's scale sets."""
        from clouds.azure.live_groups import live_groups

        return live_groups(place, pool)

    def machine_list(self, environment: NodeEnvironment, site: NodeSite) -> MachineList:
        """Return the list of the machines of a site's scale sets."""
        from clouds.azure.machine_lists import AzureMachineList

        return AzureMachineList(environment, site)

    def node_controller_settings(self, place: Place[AzureSite]) -> dict[str, str]:
        """Return the region, subscription and resource group in which the node controller lists machines, and the
        tenant whose tokens prove the machines' identity. The node controller signs in with its own machine's
        identity."""
        from clouds.azure.names import resource_group

        site = place.site
        return {
            "region": site.region,
            "subscription": site.subscription,
            "resource_group": resource_group(place),
            "tenant": site.tenant,
        }

    def token_issuer(self, site: AzureSite) -> str:
        """Return the issuer of Entra's tokens for machines at ``site`` (the claim ``iss``) without the scheme, because
        AWS names issuers that way."""
        return f"sts.windows.net/{site.tenant}/"

    @property
    def checks(self) -> AzureSiteChecks:
        from clouds.azure.checks import AzureSiteChecks

        return AzureSiteChecks()

    @property
    def control(self) -> AzureControlAccess:
        from clouds.azure.control import AzureControlAccess

        return AzureControlAccess()

    @property
    def doctor(self) -> AzureCloudDoctor:
        from clouds.azure.doctor import AzureCloudDoctor

        return AzureCloudDoctor()

    @property
    def groups(self) -> AzurePoolGroups:
        from clouds.azure.groups import AzurePoolGroups

        return AzurePoolGroups()

    @property
    def images(self) -> AzureMachineImages:
        from clouds.azure.images import AzureMachineImages

        return AzureMachineImages()

    @property
    def limits(self) -> AzureSiteLimits:
        from clouds.azure.limits import AzureSiteLimits

        return AzureSiteLimits()

    @property
    def listing(self) -> AzureResourceListing:
        from clouds.azure.listing import AzureResourceListing

        return AzureResourceListing()

    @property
    def machine_types(self) -> AzureMachineTypes:
        from clouds.azure.machine_types import AzureMachineTypes

        return AzureMachineTypes()

    @property
    def names(self) -> AzureResourceNames:
        from clouds.azure.names import AzureResourceNames

        return AzureResourceNames()

    @property
    def parts(self) -> AzureSiteParts:
        from clouds.azure.parts import AzureSiteParts

        return AzureSiteParts()

    @property
    def policy(self) -> AzurePolicyChecks:
        from clouds.azure.policy import AzurePolicyChecks

        return AzurePolicyChecks()

    @property
    def prices(self) -> AzurePriceList:
        from clouds.azure.prices import AzurePriceList

        return AzurePriceList()

    @property
    def quarantine(self) -> AzurePoolQuarantine:
        from clouds.azure.quarantine import AzurePoolQuarantine

        return AzurePoolQuarantine()

    @property
    def resources(self) -> AzureResourceTypes:
        from clouds.azure.resource_types import AzureResourceTypes

        return AzureResourceTypes()

    @property
    def tags(self) -> AzureTagRules:
        from clouds.azure.tag_rules import AzureTagRules

        return AzureTagRules()

    @property
    def tunnels(self) -> AzureSiteTunnels:
        from clouds.azure.tunnels import AzureSiteTunnels

        return AzureSiteTunnels()
