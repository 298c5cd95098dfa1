"""The command from end to end: from flags or a person's answers to a valid environment."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from clouds.base.images import BakeOptions
from clouds.onprem.site import OnpremSite
from longhaul.image.bake import plan_bake
from longhaul.terminal.exits import Exit
from tests.longhaul.init.asked import (
    AWS,
    AZURE,
    HOST_KEY,
    KEY,
    LEAST,
    LEAST_TYPED,
    PERSON,
    RACK,
    ROBOT,
    SUBSCRIPTION,
    TENANT,
    Here,
    Person,
)


def test_the_least_that_flags_can_say_is_a_valid_environment(here: Here) -> None:
    done = here.init(*LEAST)
    assert (done.code, done.err) == (Exit.OK, "")
    assert here.names() == ["Pulumi.train.yaml"]
    environment = here.load()
    assert environment.domain == "train.longhaul.internal"
    assert str(environment.supernet) == "10.0.0.0/12"
    assert environment.control_plane.etcd.members == 3
    assert not environment.destroyable
    assert list(environment.sites) == ["westeurope"]
    assert environment.pools == {}
    assert environment.access.vault_officers == {PERSON: "user"}


def test_everything_that_flags_can_say_is_in_the_environment(here: Here) -> None:
    words = (
        *("--supernet", "172.16.0.0/12", "--domain", "train.example.com", "--size", "large", "--destroyable"),
        *("--azure-zones", "3,1", "--azure-machine-type", "Standard_ND96isr_H100_v5", "--azure-max", "12"),
        *(*AWS, "--aws-zones", "b c", "--aws-max", "7", "--aws-image", "ami-0123456789abcdef0"),
        *("--officer", f"{ROBOT} service", "--operators", "198.51.100.7", *RACK),
    )
    done = here.init(*LEAST, *words)
    assert done.code == Exit.OK, done.err
    environment = here.load()
    azure, aws, rack = (environment.sites[name] for name in ("westeurope", "us-east-1", "rack"))
    assert isinstance(azure, AzureSite)
    assert isinstance(aws, AwsSite)
    assert isinstance(rack, OnpremSite)
    assert (str(environment.supernet), environment.domain) == ("172.16.0.0/12", "train.example.com")
    assert (azure.subscription, azure.tenant, azure.zones) == (SUBSCRIPTION, TENANT, ("3", "1"))
    assert (aws.region, aws.zones, aws.image) == ("us-east-1", ("b", "c"), "ami-0123456789abcdef0")
    assert [(str(gateway.public_address), gateway.host_key) for gateway in rack.gateways] == [
        ("203.0.113.10", HOST_KEY)
    ]
    assert [(host.name, host.gpus, host.host_key) for host in environment.hosts] == [
        ("gpu-0", 8, HOST_KEY),
        ("cpu-0", 0, None),
    ]
    control = environment.control_plane
    assert (control.site, control.etcd.members, control.events.members, control.api.servers) == ("westeurope", 5, 5, 5)
    gpu, cpu = environment.pools["azure-gpu"], environment.pools["aws-cpu"]
    assert (gpu.site, gpu.machine_type, gpu.min, gpu.max) == ("westeurope", "Standard_ND96isr_H100_v5", 0, 12)
    assert [taint.key for taint in gpu.taints] == ["nvidia.com/gpu"]
    assert (cpu.site, cpu.machine_type, cpu.min, cpu.max, cpu.taints) == ("us-east-1", "m7i.xlarge", 1, 7, ())
    assert environment.access.vault_officers == {PERSON: "user", ROBOT: "service"}
    assert [str(one) for one in environment.access.operators] == ["203.0.113.0/28", "198.51.100.7/32"]
    assert environment.access.administrator_key == KEY
    assert environment.destroyable


@pytest.mark.parametrize(("size", "counts"), [("trial", (1, 1, 1)), ("standard", (3, 3, 2)), ("large", (5, 5, 5))])
def test_sizes(here: Here, size: str, counts: tuple[int, int, int]) -> None:
    assert here.init(*LEAST, "--size", size).code == Exit.OK
    control = here.load().control_plane
    assert (control.etcd.members, control.events.members, control.api.servers) == counts
    assert here.load().destroyable == (size == "trial")


def test_all_that_is_missing_and_all_that_is_wrong_is_said_at_once(here: Here) -> None:
    done = here.init("--yes", "--aws-zones", "a", "--host", "gpu-0 99", "--azure-region", "West Europe")
    assert done.code == Exit.USAGE
    for flag in ("env", "azure-subscription", "azure-tenant", "aws-region", "aws-machine-type", "gateway", "officer"):
        assert f"  --{flag} " in done.err
    assert "--operators RANGE is missing" in done.err
    assert "--administrator-key FILE is missing" in done.err
    assert "--aws-zones: 'a' is not 2 to 4 different zones" in done.err
    assert "--host: 99 GPUs are more than the 16" in done.err
    assert "--azure-region: 'West Europe' is not" in done.err
    assert here.names() == []


def test_without_a_terminal_nobody_is_asked(here: Here) -> None:
    done = here.init("--env", "train", *AZURE)
    assert done.code == Exit.USAGE
    assert done.err.count("is missing") == 3
    assert done.out == ""


def test_a_person_is_asked_on_stderr(here: Here) -> None:
    person = Person("train", *LEAST_TYPED, "", KEY, "", "")
    done = here.init(typed=person)
    assert done.code == Exit.OK, done.err
    assert person.left == 0
    assert "Azure region of the control plane, such as westeurope: " in done.err
    assert "?" not in done.out
    environment = here.load()
    assert environment.control_plane.etcd.members == 1
    assert [str(one) for one in environment.access.operators] == ["203.0.113.7/32"]


def test_a_person_may_have_everything(here: Here) -> None:
    azure = [SUBSCRIPTION, TENANT, "westeurope", "1,2", "yes", "Standard_D8s_v5", "3"]
    aws = ["y", "us-east-1", "", "p5.48xlarge", "", "yes", "eu-west-1", "a b c", "m7i.xlarge", "2", "no"]
    rack = ["yes", f"203.0.113.10 {HOST_KEY}", "", "2x8", "", "node-0", "node-1 4", ""]
    person = Person("train", "", *azure, *aws, *rack, f"{PERSON}=service", "", "203.0.113.0/28", "", KEY, "", "")
    done = here.init(typed=person)
    assert done.code == Exit.OK, done.err
    assert person.left == 0
    environment = here.load()
    assert {name: (pool.min, pool.max) for name, pool in environment.pools.items()} == {
        "azure-cpu": (1, 3),
        "aws-gpu": (0, 4),
        "aws-cpu": (0, 2),
    }
    assert [(host.name, host.gpus) for host in environment.hosts] == [
        ("rack-gpu-000", 8),
        ("rack-gpu-001", 8),
        ("node-0", 0),
        ("node-1", 4),
    ]


def test_two_gateways_are_all_that_is_asked_for(here: Here) -> None:
    words = (*LEAST, "--supernet", "10.32.0.0/12", "--size", "trial", "--domain", "a.example", "--azure-zones", "1")
    person = Person("no", "no", "yes", "203.0.113.10", "203.0.113.11", "", "")
    done = here.init(*words, typed=person)
    assert done.code == Exit.OK, done.err
    site = here.load().sites["rack"]
    assert isinstance(site, OnpremSite)
    assert [gateway.name for gateway in site.gateways] == ["gw-0", "gw-1"]


def test_a_wrong_answer_is_asked_again(here: Here) -> None:
    person = Person(
        *("", "Train", "train-objects", "train", "huge"), *LEAST_TYPED, "", KEY, "", "10.0.0.0/20", "8.0.0.0/12", ""
    )
    done = here.init(typed=person)
    assert done.code == Exit.OK, done.err
    for said in ("it needs an answer", "'Train' is not lower-case", "ends with '-objects'", "smaller than /16"):
        assert said in done.err
    assert "is not private" in done.err
    assert "'huge' is not a size: trial, standard, large" in done.err


def test_a_wrong_flag_is_said_before_anybody_is_asked(here: Here) -> None:
    person = Person("train", *LEAST_TYPED)
    done = here.init("--env", "train", "--operators", "10.0.0.0/8", typed=person)
    assert done.code == Exit.USAGE
    assert "--operators: 10.0.0.0/8 is private" in done.err
    assert person.left == len(LEAST_TYPED) + 1


@pytest.mark.parametrize("answered", range(len(LEAST_TYPED) + 4))
def test_ctrl_c_at_any_question_leaves_nothing(here: Here, answered: int) -> None:
    everything = ("train", *LEAST_TYPED, "", KEY, "")
    done = here.init(typed=Person(*everything[:answered]))
    assert done.code == Exit.INTERRUPTED
    assert here.names() == []


def test_the_end_of_the_answers_is_an_error(here: Here) -> None:
    primary, secondary = pty.openpty()
    os.write(primary, b"train\n\x04")
    with open(secondary, encoding="utf-8") as terminal:
        here.monkeypatch.setattr(sys, "stdin", terminal)
        done = here.init()
    os.close(primary)
    assert done.code == Exit.USAGE
    assert "the answers ended before the questions; nothing was written" in done.err
    assert here.names() == []


def test_the_key_that_is_usual_is_offered(here: Here, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".ssh"
    folder.mkdir()
    (folder / "id_ed25519.pub").write_text(f"{KEY} and a comment of words\n")
    assert here.init(*LEAST[:-2]).code == Exit.OK
    assert here.load().access.administrator_key == " ".join(KEY.split()[:2])


def test_a_private_key_is_refused(here: Here, tmp_path: Path) -> None:
    path = tmp_path / "id_ed25519"
    path.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    done = here.init(*LEAST[:-1], str(path))
    assert done.code == Exit.USAGE
    assert f"give the public one, {path}.pub" in done.err


def test_an_image_can_be_baked_before_there_is_one(here: Here) -> None:
    """For that, the file has to be valid and has to name the gallery on Azure."""
    from datetime import UTC, datetime

    assert here.init(*LEAST, *AWS, "--azure-machine-type", "Standard_NC24ads_A100_v4").code == Exit.OK
    environment = here.load()
    now = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
    baked = plan_bake(environment, BakeOptions(site="westeurope", kind="gpu"), now=now)
    gallery = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/longhaul-images/providers/Microsoft.Compute/galleries"
    assert baked.image == f"{gallery}/longhaul/images/node-gpu/versions/2026.1121.2330"
    assert plan_bake(environment, BakeOptions(site="us-east-1"), now=now).cloud == "aws"
