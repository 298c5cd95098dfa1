"""Attacks from inside a whole environment in the lab: from a namespace, from a pod, from a machine that was taken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.model import control_machines, load, plan
from components.model.nodes.kubelet_reservations import pod_pids
from components.model.secrets.certificates import NODE_CONTROLLER
from components.model.versions.section import pinned
from tests.redteam.attacks import INTO_THE_NODE, TEAM, pod, service
from tests.support.cloud import instances
from tests.support.project import Project
from tests.support.shared_lab import ENV, GROUP, HOST, POOL, SERVERS, SharedLab
from tests.support.workload import talkers

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

MEMBER = ("--as=alice", "--as-group=system:authenticated")
OLD_CIPHERS = ("ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-SHA256")


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Iterator[Project]:
    project = shared_lab.take()
    project.kubectl("create", "namespace", TEAM)
    role = ("create", "rolebinding", "alice", "--clusterrole=edit", "--user=alice", f"--namespace={TEAM}")
    project.kubectl(*role)
    yield project
    project.kubectl("delete", "namespace", TEAM, "--wait=true", check=False)


def tried(project: Project, document: dict[str, Any]) -> str:
    """Return what the API server says to the team's member; empty when it does as asked."""
    return project.create(document, *MEMBER, check=False).stderr


@pytest.mark.parametrize("way", INTO_THE_NODE)
def test_a_team_has_no_way_into_its_nodes(project: Project, way: str) -> None:
    assert "violates PodSecurity" in tried(project, INTO_THE_NODE[way])


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
def test_a_team_pushes_nobody_out(project: Project, name: str) -> None:
    assert "insufficient quota" in tried(project, pod(priorityClassName=name))


def test_a_team_takes_no_address(project: Project) -> None:
    assert "external IPs is denied" in tried(project, service("taken", externalIPs=["10.144.0.4"]))


@pytest.mark.parametrize("name", ["nobody", "longhaul-environment"])
def test_the_node_controller_s_key_reads_no_secret(project: Project, name: str) -> None:
    """The key is used on the machine that has it, as a thief there would."""
    folder = "/etc/longhaul/pki"
    secret = f"https://127.0.0.1:6443/api/v1/namespaces/kube-system/secrets/{name}"
    words = f"curl --silent --cacert {folder}/kubernetes-ca.crt --cert {folder}/node-controller.pem {secret}"
    answer = json.loads(project.on(SERVERS[0], words).stdout)
    assert (answer["code"], NODE_CONTROLLER in answer["message"]) == (403, True)


STORES = {name: f"{ENV}-{name}-0" for name in ("etcd", "events")}
"""The only member of each etcd cluster."""
ETCD_ANSWERS = "curl --silent --insecure --max-time 5 --cert {} https://{}:2379/version"


def _answers(project: Project, machine: str, certificate: str, member: str) -> bool:
    """Return whether a member answers who asks from ``machine`` with a certificate that lies there."""
    addresses = plan(load(project.stack_file))
    (found,) = (one for one in control_machines(load(project.stack_file), addresses) if one.name == member)
    done = project.on(machine, ETCD_ANSWERS.format(certificate, found.address), check=False)
    return "etcdserver" in done.stdout


@pytest.mark.parametrize(("own", "other"), [("etcd", "events"), ("events", "etcd")])
def test_what_a_member_has_opens_no_other_etcd_cluster(project: Project, own: str, other: str) -> None:
    """Also where the network does not stop it: the thief carries it to an API server's machine."""
    thief, stolen = STORES[own], "/run/stolen.pem"
    pki = "/etc/longhaul/pki"
    names = project.on(thief, f"cd {pki}; ls *.pem").stdout.split()
    assert set(names) == {"client.pem", "member.pem"}
    for member in STORES.values():
        assert _answers(project, SERVERS[0], f"{pki}/etcd-client.pem", member)
    try:
        for name in names:
            content = project.on(thief, f"cat {pki}/{name}").stdout
            project.on(SERVERS[0], f"umask 077; echo '{content}' > {stolen}")
            assert _answers(project, thief, f"{pki}/{name}", thief)
            assert _answers(project, SERVERS[0], stolen, thief)
            assert not _answers(project, thief, f"{pki}/{name}", STORES[other])
            assert not _answers(project, SERVERS[0], stolen, STORES[other])
    finally:
        project.on(SERVERS[0], f"rm --force {stolen}")


@pytest.mark.parametrize("name", ["apiserver", "kubelet-client", "front-proxy-client", "nodes-authority"])
def test_no_other_certificate_of_an_api_server_opens_an_etcd_cluster(project: Project, name: str) -> None:
    for member in STORES.values():
        assert not _answers(project, SERVERS[0], f"/etc/longhaul/pki/{name}.pem", member)


METADATA = "http://169.254.169.254/metadata/instance?api-version=2021-02-01"


@pytest.mark.parametrize("unit", ["longhaul-autoscaler", "longhaul-node-controller", "longhaul-join"])
def test_a_program_that_was_taken_gets_no_identity_of_its_machine(project: Project, unit: str) -> None:
    """curl asks from the unit's own control group, to which its limits belong."""
    if project.on(SERVERS[0], "stat --file-system --format=%T /sys/fs/cgroup").stdout.strip() != "cgroup2fs":
        pytest.skip("docs/lab-differences.md: the host has the older hierarchy of cgroups")
    group = f"/sys/fs/cgroup$(systemctl show --property=ControlGroup --value {unit})/cgroup.procs"
    asking = f"curl --silent --max-time 5 --header Metadata:true --output /dev/null '{METADATA}'"
    assert project.on(SERVERS[0], asking, check=False).returncode == 0
    assert project.on(SERVERS[0], f"echo $$ > {group} && {asking}", check=False).returncode != 0


def test_only_the_node_controller_is_given_a_token(project: Project) -> None:
    socket = "/run/longhaul-cloud-token.sock"
    owner = project.on(SERVERS[0], f"stat --format='%U %a' {socket}").stdout
    assert owner.split() == ["node-controller", "600"]
    given = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('{}'); print(s.makefile().read())"
    asking = f'runuser --user node-controller -- python3 -c "{given.format(socket)}"'
    assert set(json.loads(project.on(SERVERS[0], asking).stdout)) == {"token", "until"}


@pytest.mark.parametrize(("machine", "port"), [(SERVERS[0], 6443), (SERVERS[0], 6444), (HOST, 10250)])
def test_no_old_cipher_is_offered(project: Project, machine: str, port: int) -> None:
    asking = f"openssl s_client -connect 127.0.0.1:{port} -tls1_2 -cipher"
    good = project.on(machine, f"{asking} ECDHE-ECDSA-AES128-GCM-SHA256 < /dev/null", check=False)
    assert "ECDHE-ECDSA-AES128-GCM-SHA256" in good.stdout
    for cipher in OLD_CIPHERS:
        answer = project.on(machine, f"{asking} {cipher}:@SECLEVEL=0 < /dev/null 2>&1", check=False)
        assert "handshake failure" in answer.stdout, cipher


@pytest.mark.parametrize(
    ("machine", "files"),
    [
        (
            SERVERS[0],
            ["controller-manager.kubeconfig", "scheduler.kubeconfig", "admission.yaml", "authentication.yaml"],
        ),
        (HOST, ["kubelet.yaml", "kube-proxy.yaml"]),
    ],
)
def test_configurations_are_their_programs_alone(project: Project, machine: str, files: list[str]) -> None:
    paths = " ".join(f"/etc/longhaul/{name}" for name in files)
    assert project.on(machine, f"stat --format=%a {paths}").stdout.split() == ["600"] * len(files)


def test_a_pod_has_few_processes_and_system_calls(project: Project) -> None:
    """The pool's machines are asked, whose number of cores the environment's file knows. The pattern matches no
    script of its own, and the line of a hierarchy of its own stands before that of the unified one."""
    talker = talkers(project, pinned("agnhost"), inside="use1")["inside"]
    assert talker.node in instances(project, GROUP)
    environment = load(project.stack_file)
    vcpus = environment.machine_type(environment.pools[POOL].machine_type).vcpus
    script = """\
set -eu
pid=$(pgrep --newest --full '[a]gnhost netexec')
grep '^Seccomp:' "/proc/$pid/status" | tr -dc 0-9; echo
container=$(sed -n 's|^[0-9]*:pids:|/pids|p; s|^0::||p' "/proc/$pid/cgroup" | head -n 1)
cat "/sys/fs/cgroup$(dirname "$container")/pids.max"
"""
    seccomp, most = project.on(talker.node, script).stdout.split()
    assert (seccomp, int(most)) == ("2", pod_pids(vcpus))
