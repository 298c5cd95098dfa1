"""Resources of Nimbus. Each becomes exactly what was asked for."""

from __future__ import annotations

from typing import Any

from pulumi import Output, ResourceOptions
from pulumi.dynamic import CreateResult, Resource, ResourceProvider


class Made(ResourceProvider):
    """Makes anything; the id is its name."""

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(id_=props["name"], outs=props)


class Fabric(Resource, module="nimbus", name="Fabric"):
    """A site's network."""

    def __init__(self, name: str, properties: dict[str, Any], opts: ResourceOptions) -> None:
        super().__init__(Made(), name, properties, opts)


class Flock(Resource, module="nimbus", name="Flock"):
    """A group of like machines."""

    def __init__(self, name: str, properties: dict[str, Any], opts: ResourceOptions) -> None:
        super().__init__(Made(), name, properties, opts)


class Address(Resource, module="nimbus", name="Address"):
    """A public address."""

    address: Output[str]

    def __init__(self, name: str, properties: dict[str, Any], opts: ResourceOptions) -> None:
        super().__init__(Made(), name, {**properties, "address": None}, opts)


class Tunnel(Resource, module="nimbus", name="Tunnel"):
    """A tunnel to an address."""

    def __init__(self, name: str, properties: dict[str, Any], opts: ResourceOptions) -> None:
        super().__init__(Made(), name, properties, opts)


class Bridge(Resource, module="nimbus", name="Bridge"):
    """Connection that joins two fabrics."""

    def __init__(self, name: str, properties: dict[str, Any], opts: ResourceOptions) -> None:
        super().__init__(Made(), name, properties, opts)
