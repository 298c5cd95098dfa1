"""Links of on-premises sites: one or two gateways, whose tunnels Ansible makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pulumi import Output

from clouds.onprem.site import OnpremSite
from components.environment.links import EndContext, LinkGateway, Tunnel
from components.onprem.vpn import TunnelEnd, tunnel


class OnpremEnd:
    """The end of an on-premises site."""

    def __init__(self, site: OnpremSite, place: EndContext) -> None:
        self._place = place
        self._addresses = {gateway.name: str(gateway.public_address) for gateway in site.gateways}
        self._links_by_gateway: dict[str, list[TunnelEnd]] = {name: [] for name in self._addresses}

    def gateways(self) -> Sequence[LinkGateway]:
        """Return each gateway, by its name in the environment file; its machine is `<env>-<name>`. The first is
        preferred."""
        return [LinkGateway(name=name, addresses=[address]) for name, address in self._addresses.items()]

    def hold(self, _name: str, gateway: LinkGateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        """Record a tunnel to each address; make nothing in any cloud."""
        self._links_by_gateway[gateway.name] += [
            tunnel(
                f"{far}-{gateway.name}-{connection.label}",
                remote_site=far,
                local_address=self._addresses[gateway.name],
                local=self._place.block(self._place.site),
                remote=self._place.block(far),
                remote_address=connection.address,
                key=connection.key,
                others=connection.others,
            )
            for connection in tunnels
        ]

    def exported(self) -> Mapping[str, Output[list[dict[str, object]]]]:
        """Return the tunnels of each gateway, by host name; they are secret."""
        environment = self._place.environment.name
        return {
            f"{environment}-{name}": Output.secret(Output.all(*tunnels))
            for name, tunnels in self._links_by_gateway.items()
        }
