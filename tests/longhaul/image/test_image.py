"""``longhaul image build``: Packer's input, the use of its output, and what is left when it fails."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from clouds.azure.images import replicas
from clouds.base.pool_section import Pool
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, SUBSCRIPTION, Checkout
from tests.longhaul.doctor.world import share
from tests.longhaul.image.conftest import GALLERY, SECRET, FakePacker

BUILD = ("image", "build", "--env", "dev")
AWS = (*BUILD, "--site", "use1")
AZURE = (*BUILD, "--site", "weu")
SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s"


def test_an_image_is_named_with_its_manifest_beside_it(checkout: Checkout, packer: FakePacker) -> None:
    done = checkout.run(*AWS, "--version", "1.4.0", "--json")
    assert done.returncode == Exit.OK, done.stderr
    kept = packer.kept()
    assert json.loads(done.stdout) == {
        "environment": "dev",
        "site": "use1",
        "kind": "node",
        "version": "1.4.0",
        "image": "ami-0a1b2c3d4e5f60718",
        "digest": "d" * 64,
        "manifest": str(kept / "manifest.json"),
        "log": str(kept / "packer.log"),
    }
    assert json.loads((kept / "manifest.json").read_text())["version"] == "1.4.0"
    assert (kept / "packer.log").read_text() == "==> build: a machine\n"
    assert kept.stat().st_mode & 0o777 == 0o700
    assert "==> build: a machine" in done.stderr


def test_people_are_told_where_the_image_goes(checkout: Checkout, packer: FakePacker) -> None:
    done = checkout.run(*AZURE, "--version", "1.4.0")
    assert done.returncode == Exit.OK, done.stderr
    assert f"sites.weu.image: {GALLERY}/node/versions/1.4.0" in done.stdout
    assert "==> build: a machine" in done.stdout


def test_packer_is_told_what_the_environment_says(checkout: Checkout, packer: FakePacker) -> None:
    checkout.run(*AWS, "--version", "1.4.0")
    told = packer.told()
    assert told["verb"] == "build"
    assert "-only=longhaul.amazon-ebs.node" in told["words"]
    variables = told["variables"]
    assert (variables["region"], variables["machine_type"], variables["subnet"]) == ("us-east-1", "m7i.xlarge", "")
    assert variables["ssh_sources"] == ["198.51.100.2/32"]
    assert len(variables["sources_digest"]) == 64
    assert variables["ssh_public_key"].startswith("ssh-rsa ")
    assert told["playbook"]["release"]["version"] == "1.4.0"
    assert told["playbook"]["depot"] == "https://depot.longhaul.internal"
    assert told["playbook"]["depot_authority"].startswith("-----BEGIN CERTIFICATE-----")
    assert told["playbook"]["purpose"] == "node"
    # The user's own variables have no effect.
    assert not [name for name in told["environ"] if name.startswith("PKR_VAR_")]
    assert told["environ"]["CHECKPOINT_DISABLE"] == "1"


def test_in_a_subnet_the_machine_is_reached_from_inside(checkout: Checkout, packer: FakePacker) -> None:
    checkout.run(*AZURE, "--kind", "gpu", "--version", "1.4.0", "--subnet", SUBNET)
    variables = packer.told()["variables"]
    assert variables["ssh_sources"] == ["10.64.0.0/12", "198.51.100.2/32"]
    assert variables["azure_network"] == {"resource_group": "net", "network": "v", "subnet": "s"}
    assert variables["azure_gallery"]["definition"] == "node-gpu"
    assert packer.told()["playbook"]["purpose"] == "gpu"


def test_azure_copies_an_image_for_the_largest_growth(checkout: Checkout, packer: FakePacker) -> None:
    checkout.run(*AZURE, "--version", "1.4.0")
    variables = packer.told()["variables"]
    assert (variables["azure_replicas"], variables["azure_image_storage"]) == (3, "Standard_ZRS")


@pytest.mark.parametrize(("machines", "copies"), [(0, 3), (60, 3), (61, 4), (500, 25), (7500, 100)])
def test_a_copy_is_for_twenty_machines(machines: int, copies: int) -> None:
    """The largest growth is that of all pools at once."""
    place = share("azure").places["weu"]
    pool = Pool(site="weu", machine_type="Standard_D8s_v5", max=machines) if machines else None
    assert replicas(replace(place, pools={"cpu": pool} if pool else {})) == copies


def test_a_version_is_made_of_the_time(checkout: Checkout, packer: FakePacker) -> None:
    done = checkout.run(*AWS, "--json")
    year, day, minute = map(int, json.loads(done.stdout)["version"].split("."))
    assert (year >= 2024, 101 <= day <= 1231, 0 <= minute <= 2359) == (True, True, True)


def test_key_and_variables_are_gone_afterwards(checkout: Checkout, packer: FakePacker) -> None:
    checkout.run(*AWS)
    told = packer.told()
    assert told["key_mode"] == 0o600
    assert not Path(told["folder"]).exists()


def test_a_secret_is_in_no_argument_file_or_log(checkout: Checkout, packer: FakePacker) -> None:
    done = checkout.run(*AZURE, "--version", "1.4.0")
    told = packer.told()
    assert told["environ"].pop("PKR_VAR_azure_client_secret") == SECRET
    assert told["environ"].pop("AZURE_CLIENT_SECRET") == SECRET
    assert SECRET not in json.dumps(told)
    assert SECRET not in done.stdout + done.stderr
    assert SECRET not in "".join(path.read_text() for path in packer.kept().iterdir())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*BUILD, "--site", "mars"), "has no site mars; its sites in clouds: use1, weu"),
        ((*BUILD, "--site", "rack"), "rack is on-prem"),
        ((*AWS, "--version", "v1"), "--version v1: three numbers"),
        ((*AWS, "--version", "1.04.0"), "--version 1.04.0"),
        ((*AWS, "--version", "1.0.2147483648"), "at most 2147483647"),
        ((*AWS, "--subnet", SUBNET), "on AWS the subnet's id"),
        ((*AZURE, "--subnet", "subnet-0123456789"), "on Azure the subnet's resource id"),
        ((*AWS, "--base", "24.04"), "on AWS the id"),
    ],
)
def test_what_means_nothing_is_wrong_usage(
    checkout: Checkout, packer: FakePacker, words: tuple[str, ...], says: str
) -> None:
    done = checkout.run(*words)
    assert done.returncode == Exit.USAGE
    assert says in done.stderr
    assert not packer.was_started()


def test_nobody_to_reach_the_machine_is_wrong_usage(checkout: Checkout, packer: FakePacker) -> None:
    raw = checkout.environment()
    raw["access"]["operators"] = []
    checkout.write(raw)
    done = checkout.run(*AWS)
    assert done.returncode == Exit.USAGE
    assert "--subnet" in done.stderr
    assert "access.operators" in done.stderr


@pytest.mark.parametrize(("words", "says"), [(AWS, "no AWS credentials"), (AZURE, "no Azure credentials")])
def test_without_credentials_nothing_is_started(
    checkout: Checkout, packer: FakePacker, words: tuple[str, ...], says: str
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"):
        del checkout.environ[name]
    # Neither an identity of the machine nor the Azure CLI.
    checkout.environ |= {"AWS_EC2_METADATA_DISABLED": "true", "PATH": str(packer.folder)}
    done = checkout.run(*words)
    assert done.returncode == Exit.FAILED
    assert says in done.stderr
    assert not packer.was_started()
    checked = checkout.run(*words, "--validate")
    assert checked.returncode == Exit.OK, checked.stderr
    assert packer.told()["verb"] == "validate"


def test_validating_makes_and_keeps_nothing(checkout: Checkout, packer: FakePacker) -> None:
    done = checkout.run(*AWS, "--validate")
    assert done.returncode == Exit.OK
    assert not list(checkout.home.glob(".local/state/longhaul/*/images/*"))
    packer.does("fails")
    assert checkout.run(*AWS, "--validate").returncode == Exit.FAILED


@pytest.mark.parametrize(
    ("words", "look"),
    [
        (
            AWS,
            "aws ec2 describe-instances --region us-east-1 --filters Name=tag:longhaul-bake,Values=longhaul-node-1.4.0",
        ),
        (AZURE, f"az group delete --subscription {SUBSCRIPTION} --name longhaul-node-1.4.0-bake"),
    ],
)
def test_a_failure_says_where_the_log_is_and_how_to_look_for_leftovers(
    checkout: Checkout, packer: FakePacker, words: tuple[str, ...], look: str
) -> None:
    packer.does("fails")
    done = checkout.run(*words, "--version", "1.4.0")
    assert done.returncode == Exit.FAILED
    kept = packer.kept()
    assert (
        f"packer ended with 1: there is no image longhaul-node-1.4.0. Its whole output: {kept}/packer.log"
        in done.stderr
    )
    assert look in done.stderr
    # Errors are included, in their order.
    assert (kept / "packer.log").read_text() == "==> build: a machine\n==> the machine does not answer\n"
    assert not (kept / "manifest.json").exists()


def test_a_packer_that_leaves_no_account_has_made_no_image(checkout: Checkout, packer: FakePacker) -> None:
    packer.does("leaves-nothing")
    done = checkout.run(*AWS)
    assert done.returncode == Exit.FAILED
    assert "reported no image" in done.stderr
    assert not (packer.kept() / "manifest.json").exists()


def test_an_image_that_says_it_is_another_is_none(checkout: Checkout, packer: FakePacker) -> None:
    packer.does("version", "9.9.9")
    done = checkout.run(*AWS, "--version", "1.4.0")
    assert done.returncode == Exit.FAILED
    assert "has the version 9.9.9, not 1.4.0" in done.stderr
    assert not (packer.kept() / "manifest.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_waits_until_packer_has_cleaned_up(
    checkout: Checkout, packer: FakePacker, tmp_path: Path, number: signal.Signals
) -> None:
    packer.does("waits")
    with (tmp_path / "said").open("wb") as said:
        process = checkout.start(*AWS, "--version", "1.4.0", stdout=said, stderr=said)
        waiting, deadline = packer.folder / "waiting", time.monotonic() + LIMIT_S
        while not (waiting.exists() and waiting.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert (packer.folder / "cleaned").exists()
    text = (tmp_path / "said").read_text()
    assert "packer was interrupted: there is no image longhaul-node-1.4.0" in text
    assert "==> removing the machine" in (packer.kept() / "packer.log").read_text()
    assert not Path(packer.told()["folder"]).exists()


def test_an_example_s_account_is_not_baked_for(checkout: Checkout, packer: FakePacker) -> None:
    raw = checkout.environment()
    raw["sites"]["weu"]["subscription"] = "00000000-0000-4000-8000-000000000001"
    checkout.write(raw)
    done = checkout.run(*AWS)
    assert done.returncode == Exit.UNREACHABLE
    assert not packer.was_started()
    assert checkout.run(*AWS, "--validate").returncode == Exit.OK
