"""The real engine: a stack whose secrets have a passphrase is planned without it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clouds.base import inputs
from lab import tools
from longhaul.report.markdown import plain
from longhaul.review.outcome import ReviewOutcome
from longhaul.review.planner import CommandPlanner, Planned
from longhaul.review.stack_without_secrets import project_without_secrets
from tests.longhaul.review.conftest import SUBSCRIPTION, Checkout

pytestmark = pytest.mark.engine

SECRET = "hunter2"
STACK = "urn:pulumi:two::longhaul::pulumi:pulumi:Stack::longhaul-two"
CLUSTER = "urn:pulumi:two::longhaul::longhaul:Cluster::two"
PROVIDER = "urn:pulumi:two::longhaul::pulumi:providers:azure-native::default"
PROVIDER_ID = "11111111-0000-4000-8000-00000000000a"
CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"


@pytest.fixture(name="environ")
def _environ(tmp_path: Path) -> dict[str, str]:
    """Variables with a file backend, and with neither a passphrase nor a credential."""
    engine = tools.ensure(["pulumi"], log_dir=tmp_path, progress=print)["pulumi"]
    (tmp_path / "backend").mkdir()
    dropped = ("PULUMI_", "AZURE_", "AWS_", "ARM_", "GITHUB_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    # The lack of credentials is reported at once: the rest of the chain waits for a machine's identity.
    variables = {"AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential", "PULUMI_SKIP_UPDATE_CHECK": "true"}
    return {**kept, **variables, "LONGHAUL_PULUMI": str(engine), "PULUMI_BACKEND_URL": f"file://{tmp_path}/backend"}


def engine(checkout: Checkout, environ: dict[str, str], *words: str, given: str | None = None) -> str:
    command = [environ["LONGHAUL_PULUMI"], *words]
    with_passphrase = {**environ, "PULUMI_CONFIG_PASSPHRASE": "correct horse"}
    done = subprocess.run(
        command, cwd=checkout.path, env=with_passphrase, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def put_stack(checkout: Checkout, environ: dict[str, str], *more: dict[str, Any]) -> None:
    """Create a stack whose cluster has a secret output, which the engine itself encrypts."""
    engine(checkout, environ, "stack", "init", "two")
    exported: dict[str, Any] = json.loads(engine(checkout, environ, "stack", "export", "--stack", "two"))
    secret = {inputs.SIGNATURE: inputs.SECRET, "plaintext": json.dumps(SECRET)}
    exported["deployment"]["resources"] = [
        {"urn": STACK, "custom": False, "type": "pulumi:pulumi:Stack", "outputs": {"secret": secret}},
        {"urn": CLUSTER, "custom": False, "type": "longhaul:Cluster", "parent": STACK, "outputs": {"secret": secret}},
        *more,
    ]
    engine(checkout, environ, "stack", "import", "--stack", "two", given=json.dumps(exported))


def plan(checkout: Checkout, environ: dict[str, str], *, drift: bool = False) -> Planned:
    return CommandPlanner(program=checkout.path, environ=environ)(
        "two", project=checkout.project, base=None, drift=drift
    )


def test_a_plan_needs_no_passphrase(checkout: Checkout, environ: dict[str, str], tmp_path: Path) -> None:
    put_stack(checkout, environ)
    assert "encryptionsalt" in checkout.project.stack_file("two").read_text(encoding="utf-8")
    assert project_without_secrets(
        checkout.project, "two", folder=tmp_path / "copy", program=checkout.path, environ=environ
    ).has_state
    everything = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert "ciphertext" not in everything
    assert SECRET not in everything
    planned = plan(checkout, environ)
    assert planned.has_state
    assert planned.summary.against == "compared with the state, secrets left out"
    assert planned.summary.counts["make"] > 50
    assert SECRET not in planned.markdown


def test_a_tunnel_is_not_read(checkout: Checkout, environ: dict[str, str]) -> None:
    """The stand-in plugin asks the cloud for a resource that it reads, which fails here. With one tunnel in the state,
    a plan that reads it would fail."""
    provider = {"urn": PROVIDER, "custom": True, "type": "pulumi:providers:azure-native", "id": PROVIDER_ID}
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/two"
    tunnel = {
        "urn": f"urn:pulumi:two::longhaul::longhaul:Cluster${CONNECTION}::two-tunnel",
        "custom": True,
        "type": CONNECTION,
        "id": f"{group}/providers/Microsoft.Network/connections/two-tunnel",
        "parent": CLUSTER,
        "provider": f"{PROVIDER}::{PROVIDER_ID}",
    }
    put_stack(checkout, environ, provider, tunnel)
    planned = plan(checkout, environ, drift=True)
    assert set(planned.summary.counts) == {"make"}


def test_without_a_stack_a_change_is_compared_with_its_file_of_before(
    checkout: Checkout, environ: dict[str, str], tmp_path: Path
) -> None:
    base = tmp_path / "Pulumi.two.yaml"
    raw = checkout.read("two")
    raw["control_plane"]["etcd"]["members"] = 3
    checkout.change("two", raw)
    base.write_text(checkout.project.stack_file("two").read_text(encoding="utf-8"), encoding="utf-8")
    raw["control_plane"]["etcd"]["machine_type"] = "Standard_L16s_v3"
    checkout.change("two", raw)
    planned = CommandPlanner(program=checkout.path, environ=environ)(
        "two", project=checkout.project, base=base, drift=False
    )
    assert not planned.has_state
    assert planned.summary.verdict is ReviewOutcome.CARE
    assert planned.summary.against == "compared with the earlier file alone"
    (reason,) = planned.summary.reasons
    assert reason.what == "3 of 3 members of the etcd cluster etcd are replaced, one at a time."
    assert plain("control_plane.etcd.machine_type: Standard_L8s_v3 -> Standard_L16s_v3") in planned.markdown


def test_a_stack_that_is_not_there(checkout: Checkout, environ: dict[str, str], tmp_path: Path) -> None:
    assert not project_without_secrets(
        checkout.project, "two", folder=tmp_path / "copy", program=checkout.path, environ=environ
    ).has_state
