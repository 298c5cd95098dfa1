"""A site in Nimbus as links see it: one gateway with one address."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from pulumi import Output

from components.links import EndContext, Gateway, Tunnel
from components.tags import site_tags
from nimbus_components import made


class NimbusEnd:
    """The end of a site in Nimbus."""

    def __init__(self, place: EndContext) -> None:
        self._place = place

    @cached_property
    def _address(self) -> Output[str]:
        place = self._place
        tags = site_tags(place.environment, place.site)
        name = f"{place.name}-address"
        return made.Address(name, {"name": place.called(place.name), "tags": tags}, place.opts).address

    def peer(self, name: str, far: NimbusEnd) -> None:
        """Bridge two sites' fabrics."""
        ends = [str(place.block(place.site)) for place in (self._place, far._place)]
        tags = site_tags(self._place.environment, self._place.site)
        made.Bridge(name, {"name": self._place.called(name), "tags": tags, "ranges": ends}, self._place.opts)

    def gateways(self) -> Sequence[Gateway]:
        """Return the one gateway."""
        return [Gateway(addresses=[self._address])]

    def hold(self, name: str, _gateway: Gateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        """Make a tunnel to each address."""
        place = self._place
        for tunnel in tunnels:
            own = f"{name}-{place.site}-{tunnel.label}"
            properties = {
                "name": place.called(own),
                "tags": site_tags(place.environment, place.site),
                "local": str(place.block(place.site)),
                "remote": str(place.block(far)),
                "remote_address": tunnel.address,
                "shared_key": tunnel.key,
            }
            made.Tunnel(own, properties, place.opts)
