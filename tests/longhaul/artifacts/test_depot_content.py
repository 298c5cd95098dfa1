"""The content of a depot follows from the environment, and stand-ins get into it only when they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from components.model import Environment
from longhaul.artifacts import image_contents
from longhaul.artifacts.depot_content import Pull, depot_content, parse_pull
from longhaul.artifacts.image_contents import ContainerImage
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import load
from tests.model.make import AWS, ONPREM, environment, minimal

SPEC = load()
DIGEST = f"sha256:{'a' * 64}"


def image(tool: str, **more: Any) -> ContainerImage:
    return ContainerImage(tool=tool, name=f"registry.example/{tool}", tag="{version}", entrypoint=("/x",), **more)


def version(tool: str) -> str:
    (found,) = SPEC.select([tool])
    return found.version


CONTENTS = replace(
    image_contents.load(),
    bare=(),
    node=("runc",),
    gateway=("tcpdump",),
    node_tools=("etcd", "kubelet"),
    host_tools=("kubelet",),
    gpu_tools=("containerd",),
    images=(
        image("pause", stand_in=True, digests={version("pause"): DIGEST}),
        image("coredns"),
        image("agnhost", lab_only=True),
    ),
)


def with_hosts(*, hosts: tuple[dict[str, Any], ...] = (), **changes: Any) -> Environment:
    found = environment(sites={**minimal()["sites"], "colo": ONPREM}, **changes)
    return found.model_copy(update={"hosts": tuple(_host(one) for one in hosts)})


def _host(raw: dict[str, Any]) -> Any:
    from components.model.hosts.section import Host

    return Host.model_validate({"site": "colo", **raw})


def test_a_cloud_site_gets_what_any_node_may_need() -> None:
    found = depot_content(with_hosts(), CONTENTS, SPEC, site="weu")
    assert (found.sites, found.tools, found.packages) == (("weu",), ("etcd", "kubelet"), ("runc",))


def test_a_rack_gets_what_its_machines_need() -> None:
    assert depot_content(with_hosts(), CONTENTS, SPEC, site="colo").packages == ("tcpdump",)
    assert depot_content(with_hosts(), CONTENTS, SPEC, site="colo").tools == ()
    found = depot_content(with_hosts(hosts=({"name": "one"},)), CONTENTS, SPEC, site="colo")
    assert (found.tools, found.packages) == (("kubelet",), ("runc", "tcpdump"))


def test_all_sites_get_all() -> None:
    found = depot_content(with_hosts(), CONTENTS, SPEC)
    assert (found.sites, found.packages, found.suites) == (("weu", "colo"), ("runc", "tcpdump"), ("bookworm",))


def test_releases_are_those_asked_for_once_each() -> None:
    assert depot_content(with_hosts(), CONTENTS, SPEC, suites=["noble", "bookworm", "noble"]).suites == (
        "noble",
        "bookworm",
    )


def test_an_unknown_site_is_refused() -> None:
    with pytest.raises(SetupError, match="no site 'lost'; it has weu, colo"):
        depot_content(with_hosts(), CONTENTS, SPEC, site="lost")


def test_another_version_than_the_pinned_one_is_refused() -> None:
    with pytest.raises(SetupError, match=r"versions\.kubernetes is 1\.2\.3, and tools\.toml pins"):
        depot_content(with_hosts(versions={"kubernetes": "1.2.3"}), CONTENTS, SPEC)


def test_images_are_pulled_by_digest_or_made_and_the_labs_stay_there() -> None:
    found = depot_content(with_hosts(), CONTENTS, SPEC)
    assert found.pulls == (Pull(name=f"registry.example/pause:{version('pause')}", digest=DIGEST),)
    assert [one.tool for one in found.made] == ["coredns"]


def test_all_of_ours_can_be_made() -> None:
    found = depot_content(with_hosts(), CONTENTS, SPEC, make_images=True)
    assert found.pulls == ()
    assert [one.tool for one in found.made] == ["pause", "coredns"]


def test_a_digest_of_another_tag_does_not_count_and_no_stand_in_is_made_unasked() -> None:
    old = replace(CONTENTS, images=(image("pause", stand_in=True, digests={"0.0.1": DIGEST}),))
    with pytest.raises(SetupError, match=r"no digest of registry\.example/pause:.*--image.*--make-images"):
        depot_content(with_hosts(), old, SPEC)


def test_an_image_that_is_given_takes_the_place_of_ours_of_that_name() -> None:
    given = Pull(name=f"registry.example/coredns:{version('coredns')}", digest=DIGEST)
    found = depot_content(with_hosts(), CONTENTS, SPEC, more=[given])
    assert found.pulls[0] == given
    assert found.made == ()


def test_images_for_gpus_and_their_libraries_are_for_who_has_gpus() -> None:
    gpu = replace(CONTENTS, images=(image("coredns", gpus=True, libraries=("libc6",)),))
    assert depot_content(with_hosts(hosts=({"name": "one"},)), gpu, SPEC).made == ()
    found = depot_content(with_hosts(hosts=({"name": "one", "gpus": 8},)), gpu, SPEC, site="colo")
    assert [one.tool for one in found.made] == ["coredns"]
    assert "libc6" in found.packages
    assert found.tools == ("containerd", "kubelet")


def test_device_plugins_are_for_sites_with_their_networks() -> None:
    shared = replace(CONTENTS, images=(image("coredns", rdma=True),))
    for host, made in (({}, []), ({"rdma": "roce"}, ["coredns"])):
        found = depot_content(with_hosts(hosts=({"name": "one", **host},)), shared, SPEC)
        assert [one.tool for one in found.made] == made
    pools = {"h100": {"site": "use1", "machine_type": "p5.48xlarge", "max": 2, "efa": True}}
    images = {"efa_device_plugin": f"registry.example/efa:v1@{DIGEST}"}
    adapters = environment(sites={**minimal()["sites"], "use1": AWS}, pools=pools, images=images)
    for site, pulled in (("use1", ["registry.example/efa:v1"]), ("weu", [])):
        assert [one.name for one in depot_content(adapters, shared, SPEC, site=site).pulls] == pulled


@pytest.mark.parametrize(
    "text",
    [
        "registry.example/a:v1",
        f"registry.example/a@{DIGEST}",
        f"a:v1@{DIGEST}",
        "registry.example/a:v1@sha256:short",
        f"registry.example/a:v1@sha256:{'A' * 64}",
        f"registry.example/../a:v1@{DIGEST} ",
        "",
    ],
)
def test_an_image_needs_registry_tag_and_digest(text: str) -> None:
    with pytest.raises(ValueError, match=r"REGISTRY/PATH:TAG@sha256"):
        parse_pull(text)


def test_a_whole_name_is_taken_apart() -> None:
    assert parse_pull(f"127.0.0.1:5000/team/train:v2@{DIGEST}") == Pull(
        name="127.0.0.1:5000/team/train:v2", digest=DIGEST
    )


def test_what_the_repository_lists_can_be_had() -> None:
    """Every image of image.toml is pulled or made for an environment that has everything."""
    everything = with_hosts(hosts=({"name": "one", "gpus": 8, "rdma": "infiniband"},))
    listed = image_contents.load(gpus=True, rdma=True)
    found = depot_content(everything, listed, SPEC)
    names = {pull.name.rpartition(":")[0] for pull in found.pulls} | {one.name for one in found.made}
    assert names == {one.name for one in listed.images if not one.lab_only}
