"""Checks of the control plane's site and of the API's port."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault, Location
from clouds.base.phrases import suggestion
from clouds.registry import cloud_of, clouds
from components.model.environment import Environment
from contract.ports import API_SERVER_PORTS


def check_control_plane(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when the control plane cannot be on the site that the file names."""
    name = environment.control_plane.site
    possible = [name for name, site in environment.sites.items() if cloud_of(site).holds_control_plane]
    if name not in environment.sites:
        wrong = f"{name!r} is not a site"
    elif name not in possible:
        titles = " or ".join(cloud.title for cloud in clouds().values() if cloud.holds_control_plane)
        wrong = f"{name!r} is not on {titles}: a control plane cannot be elsewhere yet"
    else:
        return
    basis: tuple[Location, ...] = (("sites",), ("sites", name, "kind"))
    yield Fault(at=("control_plane", "site"), wrong=wrong, write=suggestion(possible, name), basis=basis)


def check_api_port(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when another program on the API servers' machines has the API's port."""
    port = environment.control_plane.api.port
    if port in API_SERVER_PORTS:
        wrong = f"{port} is the port of {API_SERVER_PORTS[port]} on the API servers' machines"
        yield Fault(at=("control_plane", "api", "port"), wrong=wrong, write="another, such as 6443")
