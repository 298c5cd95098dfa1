"""What Longhaul itself declares, judged: clean, but for what is listed here."""

from __future__ import annotations

import importlib
import inspect
import sys
from functools import cache
from typing import Any
from unittest import mock

import pytest

from components.cluster import Cluster
from components.model import Environment, load
from components.sdk import FRAMES
from longhaul.policy import Resource, check, declared_by
from longhaul.policy.tags import TAGGED
from tests.longhaul.policy.samples import resources
from tests.support import production
from tests.support.declared import Declared, declare
from tests.support.hosts import STACKS

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nthe authority's\n-----END CERTIFICATE-----\n"


def cloud(resource: Declared) -> dict[str, Any]:
    """What clouds and vault answer."""
    match resource.type.rpartition(":")[2]:
        case "CertificateAuthority":
            return {"certificate": CERTIFICATE, "fingerprint": "ab"}
        case "Certificate":
            return {"certificate": CERTIFICATE, "not_after": "2030-01-01T00:00:00+00:00"}
        case "TunnelKey":
            return {"value": "key"}
        case "ResourceGroup":
            return {"name": resource.inputs["resourceGroupName"]}
        case "VirtualMachine":
            # What goes in as a list of identities comes back as a map.
            return {"identity": {"userAssignedIdentities": {}}, "vmId": resource.name}
        case "UserAssignedIdentity":
            return {"principalId": f"{resource.name}-principal"}
    return production.cloud(resource)


@cache
def environment(name: str) -> Environment:
    """As it is in the tree, with no more of like machines than shows what they are."""
    whole = load(STACKS / f"Pulumi.{name}.yaml")
    control = whole.control_plane
    fewer = {
        "etcd": control.etcd.model_copy(update={"members": 1}),
        "events": control.events.model_copy(update={"members": 1}),
        "api": control.api.model_copy(update={"servers": 1}),
    }
    return whole.model_copy(update={"control_plane": control.model_copy(update=fewer)})


@cache
def program(name: str) -> tuple[Resource, ...]:
    """What it declares; the same run for every test. Without the hooks, which only an engine can call."""
    short = mock.patch.object(sys, "tracebacklimit", FRAMES, create=True)
    with short, mock.patch("components.control_plane.guards", return_value={}):
        made = declare(lambda: Cluster(environment(name)).outputs, answer=cloud)
    return resources(made, stack=name)


@pytest.mark.parametrize("name", ["lab", "prod"])
def test_the_program_is_clean(name: str) -> None:
    assert check(program(name), declared=declared_by(environment(name))) == []


@pytest.mark.parametrize("name", ["lab", "prod"])
def test_what_is_declared_public_is_what_the_program_makes(name: str) -> None:
    public = declared_by(environment(name)).public
    assert set(public) <= {one.name for one in program(name)}


@pytest.mark.parametrize("name", ["lab", "prod"])
def test_every_kind_that_takes_tags_is_asked_for_them(name: str) -> None:
    kinds = {one.kind for one in program(name) if one.type.startswith(("aws:", "azure-native:"))}
    assert {kind for kind in kinds if takes_tags(kind)} == kinds & TAGGED


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # whole modules of an SDK are loaded
def test_no_kind_is_asked_for_tags_that_it_does_not_take() -> None:
    assert {kind for kind in TAGGED if not takes_tags(kind)} == set()


def takes_tags(kind: str) -> bool:
    """Whether the SDK's class has tags."""
    package, module, name = kind.split(":")
    sdk = importlib.import_module(f"pulumi_{package.replace('-', '_')}.{module.partition('/')[0]}")
    return "tags" in inspect.signature(getattr(sdk, name)._internal_init).parameters
