"""Kueue and JobSet on machines: their configuration, units and checks agree with the model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from kube_apiserver import checks as api_checks
from restore.units import CLIENTS

from components.model import Environment, Role, certificates, control_machines, load, plan
from components.model.teams.queues import FRAMEWORKS, KUEUE, MANAGERS, NAMESPACE, Manager
from components.render import files, secret_files, vault_secrets
from contract.documents.node import NodeConfig
from contract.labels import TEAM_LABEL
from tests.support.hosts import STACKS

MANAGER = pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: manager.name)


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    return load(STACKS / "Pulumi.lab.yaml").model_copy(update={"queues": True})


def configuration(rootfs: Path, manager: Manager) -> dict[str, Any]:
    return dict(yaml.safe_load((rootfs / f"usr/local/share/longhaul/{manager.name}.yaml").read_text()))


def unit(rootfs: Path, manager: Manager) -> str:
    return (rootfs / f"etc/systemd/system/{manager.name}.service").read_text()


@MANAGER
def test_it_listens_on_loopback_alone_where_it_is_looked_for(rootfs: Path, manager: Manager) -> None:
    found = configuration(rootfs, manager)
    assert (found["webhook"]["host"], found["webhook"]["port"]) == ("127.0.0.1", manager.port)
    assert found["health"]["healthProbeBindAddress"] == f"127.0.0.1:{manager.health_port}"
    assert api_checks.QUEUES[manager.name] == f"http://127.0.0.1:{manager.health_port}/readyz"
    metrics = found["metrics"]["bindAddress"]
    ports = {manager.port, manager.health_port, *([int(metrics.partition(":")[2])] if metrics != "0" else [])}
    assert metrics == "0" or metrics.startswith("127.0.0.1:")
    assert {int(port) for port in re.findall(r"^SocketBindAllow=ipv4:tcp:(\d+)$", unit(rootfs, manager), re.M)} == ports
    assert found["internalCertManagement"] == {"enable": False}


@MANAGER
def test_its_certificate_is_read_where_it_is(rootfs: Path, manager: Manager) -> None:
    folder = configuration(rootfs, manager)["webhook"]["certDir"]
    for name in ("tls.crt", "tls.key"):
        assert str((rootfs / folder.lstrip("/") / name).readlink()) == f"/etc/longhaul/pki/{manager.serving}.pem"


@MANAGER
def test_one_leads_and_tells_it_where_it_may(rootfs: Path, manager: Manager) -> None:
    election = configuration(rootfs, manager)["leaderElection"]
    assert election == {"leaderElect": True, "resourceName": manager.name, "resourceNamespace": NAMESPACE}


@MANAGER
def test_its_servers_offer_what_the_api_server_does(rootfs: Path, manager: Manager) -> None:
    text = (rootfs / "etc/systemd/system/kube-apiserver.service").read_text()
    tls = configuration(rootfs, manager)["tls"]
    assert f"--tls-cipher-suites={','.join(tls['cipherSuites'])} " in text
    assert f"--tls-min-version={tls['minVersion']} " in text


def test_kueue_knows_teams_and_our_kinds(rootfs: Path) -> None:
    found = configuration(rootfs, KUEUE)
    assert found["integrations"]["frameworks"] == list(FRAMEWORKS)
    assert found["managedJobsNamespaceSelector"] == {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}
    assert found["namespace"] == NAMESPACE
    for gate in ("ElasticJobsViaWorkloadSlices", "ReclaimablePods"):
        assert found["featureGates"][gate] is False
    # With what Kueue has deactivated, its job would go.
    assert found["objectRetentionPolicies"] == {"workloads": {"afterFinished": "24h"}}


@MANAGER
def test_it_starts_where_there_are_queues_and_stops_for_a_restore(rootfs: Path, manager: Manager) -> None:
    text = unit(rootfs, manager)
    assert f"\nConditionPathExists={manager.kubeconfig}\n" in text
    target = (rootfs / "etc/systemd/system/longhaul-api.target").read_text()
    assert f"{manager.name}.service" in next(line for line in target.splitlines() if line.startswith("Wants="))
    assert f"{manager.name}.service" in CLIENTS


def test_api_servers_have_what_they_need_and_only_with_queues(environment: Environment) -> None:
    addresses = plan(environment)
    without = environment.model_copy(update={"queues": None})
    for machine in control_machines(environment, addresses):
        more = files(environment, addresses, machine).keys() - files(without, addresses, machine).keys()
        read = set(vault_secrets(environment, addresses, machine)) - set(vault_secrets(without, addresses, machine))
        if machine.role is not Role.API:
            assert (more, read) == (set(), set())
            continue
        assert more == {manager.kubeconfig for manager in MANAGERS}
        managers = {f"{machine.name}-{part}" for one in MANAGERS for part in (one.name, one.serving)}
        assert read == {*managers, f"{machine.name}-accountant"}
        node = json.loads(files(environment, addresses, machine)["/etc/longhaul/node.json"].content)
        assert NodeConfig(**node).queues
        assert "queues" not in json.loads(files(without, addresses, machine)["/etc/longhaul/node.json"].content)
        owners = {file.path: file.user for file in secret_files(environment, machine)}
        for manager in MANAGERS:
            assert owners[f"/etc/longhaul/pki/{manager.serving}.pem"] == manager.name
            config = files(environment, addresses, machine)[manager.kubeconfig]
            assert (config.owner, config.mode) == (f"{manager.name}:{manager.name}", 0o600)


def test_a_client_s_certificate_serves_nothing_and_the_other_opens_nothing(environment: Environment) -> None:
    issued = {one.name: one for one in certificates(environment, plan(environment))}
    for manager in MANAGERS:
        client, server = issued[f"lab-api-0-{manager.name}"], issued[f"lab-api-0-{manager.serving}"]
        assert (client.common_name, client.usages, client.organizations) == (manager.user, ("client",), ())
        assert (server.usages, [str(one) for one in server.addresses]) == (("server",), ["127.0.0.1"])
        assert (client.addresses, server.dns_names) == ((), ())
