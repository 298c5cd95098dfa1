"""The racks' playbook on real bare machines: two sites, each with a gateway, and a tunnel between them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.onprem.vpn import ESP_PROPOSAL, IKE_PROPOSAL
from lab import depot, image
from lab.depot_authority import AUTHORITY
from lab.desired import World
from lab.hosts import host_key
from lab.signing import KEY
from lab.ssh import public_text
from tests.lab.hypervisor.conftest import Lab, eventually, make_lab, rootfs  # noqa: F401 - fixtures
from tests.longhaul.fake_engine import write_state
from tests.model.make import AZURE, minimal
from tests.support.programs import write_program

pytestmark = pytest.mark.lab

ENV = "racks"
GATEWAYS = {"gw-one": ("one", "198.51.100.20"), "gw-two": ("two", "198.51.100.21")}
MACHINES = tuple(f"{ENV}-{name}" for name in GATEWAYS)
LIMIT_S = 1500
"""Time limit of a run in seconds; on an idle machine it takes twenty."""


def declared() -> dict[str, Any]:
    sites = {
        site: {
            "kind": "onprem",
            "depot": "https://depot.longhaul.internal",
            "gateways": [
                {"name": name, "public_address": address, "host_key": public_text(host_key(ENV, f"{ENV}-{name}"))}
            ],
        }
        for name, (site, address) in GATEWAYS.items()
    }
    # One gateway calls the other: SSH is the only port that one has for others inside, and it is for operators.
    access = {**minimal()["access"], "operators": ["198.51.100.2/32"], "operators_inside": ["10.65.0.10/32"]}
    depots = {"key": KEY, "authority": AUTHORITY.read_text()}
    return {**minimal(), "name": ENV, "sites": {"weu": AZURE, **sites}, "access": access, "depots": depots}


def tunnel(own: str, other: str, blocks: dict[str, str]) -> dict[str, Any]:
    (own_site, own_address), (other_site, other_address) = GATEWAYS[own], GATEWAYS[other]
    return {
        "name": f"{other_site}-{own}",
        "remote_site": other_site,
        "local_address": own_address,
        "remote_address": other_address,
        "local_block": blocks[own_site],
        "remote_block": blocks[other_site],
        "key": 'of "strange" \\characters',
        "ike_proposal": IKE_PROPOSAL,
        "esp_proposal": ESP_PROPOSAL,
        "dpd_seconds": 30,
    }


@dataclass(frozen=True, kw_only=True)
class Racks:
    """Bare machines, and a project whose stack has tunnels for them."""

    lab: Lab
    project: Path

    def play(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``ansible-playbook`` as any user would, by the lab's operator."""
        playbooks = Path(__file__).resolve().parents[2] / "playbooks"
        argv = [str(Path(sys.executable).with_name("ansible-playbook")), "--inventory", str(playbooks / "inventory.py")]
        variables = {
            "LONGHAUL_ENV": ENV,
            "LONGHAUL_PROJECT": str(self.project),
            "LONGHAUL_PULUMI": str(self.project / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.project / 'backend'}",
            "HOME": str(self.project),
            "TMPDIR": str(self.project),
        }
        enter = [str(self.lab.state.enter), "env", *(f"{name}={value}" for name, value in variables.items())]
        return subprocess.run(
            [*enter, *argv, *words, str(playbooks / "site.yml")],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            cwd=self.project,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )


@pytest.fixture(scope="module", name="racks")
def _racks(
    make_lab: Callable[[str], Lab],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Racks:
    project = tmp_path_factory.mktemp("project")
    (project / "stacks").mkdir()
    (project / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/\n")
    stack = project / "stacks" / f"Pulumi.{ENV}.yaml"
    stack.write_text(yaml.safe_dump({"config": {"longhaul:environment": declared()}}, sort_keys=False))
    blocks = {"one": "10.65.0.0/16", "two": "10.66.0.0/16"}
    outputs = {
        "kubernetes_ca": "none",
        "onprem_tunnels": {
            f"{ENV}-{own}": [tunnel(own, other, blocks)] for own, other in (("gw-one", "gw-two"), ("gw-two", "gw-one"))
        },
    }
    write_program(project / "pulumi", f"#!/bin/sh\ncat <<'OUTPUTS'\n{json.dumps(outputs)}\nOUTPUTS\n")
    write_state(project / "backend", ENV)
    lab = make_lab(ENV)
    logs = tmp_path_factory.mktemp("log")
    bare = image.bake(log_dir=logs, progress=print).bare
    filled = depot.ensure(log_dir=logs, progress=print)
    lab.start("--bare-rootfs", str(bare), "--stack", str(stack), "--depot", str(filled))
    lab.apply(World())
    lab.await_phase("running", *MACHINES)
    return Racks(lab=lab, project=project)


def changed(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return the number of tasks that changed each machine, by Ansible's own count."""
    found = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=0", done.stdout, flags=re.MULTILINE)
    return {name: int(count) for name, count in found}


def test_what_is_not_as_declared_is_said_and_nothing_is_touched(racks: Racks) -> None:
    done = racks.play("--limit", MACHINES[0], "--extra-vars", "preflight_address=10.65.0.99")
    assert done.returncode != 0
    assert "10.65.0.99" in done.stdout
    assert "10.65.0.10/24" in done.stdout
    assert racks.lab.inside(MACHINES[0], "test ! -e /etc/apt/sources.list.d/longhaul-depot.list").returncode == 0


def test_a_key_that_is_not_pinned_is_not_connected_to(racks: Racks) -> None:
    done = racks.play("--limit", MACHINES[0], "--extra-vars", "preflight_host_key=")
    assert done.returncode != 0
    assert "ssh-keyscan" in done.stdout


def test_bare_machines_become_gateways_with_a_tunnel_and_stay_as_they_are(racks: Racks) -> None:
    first = racks.play("--diff")
    assert first.returncode == 0, first.stdout + first.stderr
    assert all(count > 0 for count in changed(first).values())
    assert "strange" not in first.stdout + first.stderr, "the tunnel's key is shown"
    second = racks.play()
    assert second.returncode == 0, second.stdout + second.stderr
    assert changed(second) == dict.fromkeys(MACHINES, 0)


def test_sites_talk_through_the_tunnel(racks: Racks) -> None:
    """Tested from the gateway's address inside one site to the one inside the other."""
    script = "exec 3<>/dev/tcp/10.66.0.10/22; head -c 4 <&3"
    source = "ip route get 10.66.0.10"
    # The gateways dial when their programs start; the playbook does not wait for that.
    eventually(lambda: "dev ipsec0" in racks.lab.inside(MACHINES[0], source).stdout, what="the tunnel is up")
    eventually(
        lambda: racks.lab.inside(MACHINES[0], f"timeout 10 bash -c '{script}'", check=False).stdout == "SSH-",
        what="the other site answers",
    )


def test_secrets_are_roots_alone(racks: Racks) -> None:
    seen = racks.lab.inside(MACHINES[0], "stat --format='%a %U' /etc/swanctl/conf.d/longhaul.conf").stdout
    assert seen == "600 root\n"


def test_only_what_changed_is_restarted(racks: Racks) -> None:
    since = (
        "systemctl show --property=ActiveEnterTimestampMonotonic strongswan.service longhaul-gateway-firewall.service"
    )
    before = racks.lab.inside(MACHINES[1], since).stdout.split()
    racks.lab.inside(MACHINES[1], "echo '# more' >> /etc/longhaul/gateway.nft")
    racks.lab.inside(MACHINES[1], "nft delete table inet longhaul_gateway; rm /var/lib/longhaul/settled/*firewall*")
    done = racks.play("--limit", MACHINES[1])
    assert done.returncode == 0, done.stdout
    after = racks.lab.inside(MACHINES[1], since).stdout.split()
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert "policy drop" in racks.lab.inside(MACHINES[1], "nft list table inet longhaul_gateway").stdout


def test_a_gateway_that_starts_again_dials_by_itself(racks: Racks) -> None:
    racks.lab.inside(MACHINES[0], "systemctl restart strongswan.service")
    up = "swanctl --list-sas 2>/dev/null | grep -c INSTALLED"
    eventually(
        lambda: racks.lab.inside(MACHINES[0], up, check=False).stdout.strip() not in ("", "0"), what="the tunnel is up"
    )
