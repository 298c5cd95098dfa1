"""On-premises sites of an environment: nothing is made, but other sites and Ansible need to know about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from clouds.onprem.site import OnpremSite
from components.environment.cloud_resources import UserDataMaker
from components.environment.links import EndContext
from components.model import AddressPlan, Environment
from components.onprem.links import OnpremEnd


class OnpremCloud:
    """The environment's on-premises sites."""

    providers: Sequence[pulumi.ProviderResource] = ()

    def __init__(self, environment: Environment, _addresses: AddressPlan, *, parent: pulumi.Resource) -> None:  # noqa: ARG002
        self._sites = {name: site for name, site in environment.sites.items() if isinstance(site, OnpremSite)}

    def make_site(self, name: str) -> None:
        """Make nothing: the racks exist already."""

    def make_pools(self, site: str, user_data: UserDataMaker) -> None:
        """Make nothing: hosts are not rented."""

    def admit_controller(self, _principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Grant nothing: hosts have tokens, and no cloud is asked about them."""
        return {}

    def admit_autoscaler(self, _principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Grant nothing: hosts are there, whatever waits."""
        return {}

    def link_end(self, place: EndContext) -> OnpremEnd:
        """Return a site's end of its links."""
        return OnpremEnd(self._sites[place.site], place)
