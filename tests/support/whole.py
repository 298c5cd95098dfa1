"""Declares a whole environment without an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from pulumi import Output

from components.environment.cluster import Cluster
from components.model import Environment, plan
from components.objects.cluster import ClusterObjects
from tests.support import production
from tests.support.declared import Declared, Outputs, Program, Told, declare

TUNNEL_KEY = "abcdef0123456789" * 4
ROLE = "arn:aws:iam::123456789012:role/node-controller"
CA = "-----BEGIN CERTIFICATE-----\nthe authority's\n-----END CERTIFICATE-----\n"


def with_few_machines(environment: Environment) -> Environment:
    """Return the environment with one machine of each kind in its control plane."""
    control = environment.control_plane
    fewer = {
        "etcd": control.etcd.model_copy(update={"members": 1}),
        "events": control.events.model_copy(update={"members": 1}),
        "api": control.api.model_copy(update={"servers": 1}),
    }
    return environment.model_copy(update={"control_plane": control.model_copy(update=fewer)})


def declare_whole(environment: Environment, *, told: Told | None = None) -> Program:
    """Declare the environment without the hooks, which only an engine can call; ``told`` describes existing parts."""
    build = lambda: Cluster(environment).outputs  # noqa: E731
    with without_hooks():
        return declare(build, answer=cloud, told=told) if told else declare(build, answer=cloud)


def declare_objects(environment: Environment) -> Program:
    """Declare what runs on the cluster."""

    def build() -> Outputs:
        role, authority = Output.from_input(ROLE), Output.from_input(CA)
        ClusterObjects(environment, plan(environment), node_controller_role=role, kubernetes_ca=authority)
        return {}

    return declare(build)


@contextmanager
def without_hooks() -> Iterator[None]:
    """Declare a cluster without what only an engine can call."""
    with (
        mock.patch("components.control_plane.plane.machine_hooks", return_value={}),
        mock.patch("components.guards.immutable.keeps", return_value=None),
    ):
        yield


def cloud(resource: Declared) -> dict[str, Any]:
    """Return the outputs of clouds and vault."""
    match resource.type.rpartition(":")[2]:
        case "CertificateAuthority":
            return {"certificate": CA, "fingerprint": "ab"}
        case "Certificate":
            return {"certificate": CA, "not_after": "2030-01-01T00:00:00+00:00"}
        case "TunnelKey":
            return {"value": "" if resource.inputs.get("of_cloud") else TUNNEL_KEY}
        case "ResourceGroup":
            return {"name": resource.inputs["resourceGroupName"]}
        case "VirtualMachine":
            # The input is a list of identities, the output a map.
            return {"identity": {"userAssignedIdentities": {}}, "vmId": resource.name}
        case "UserAssignedIdentity":
            return {"principalId": f"{resource.name}-principal"}
    return production.cloud(resource)
