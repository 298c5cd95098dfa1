"""Kueue and JobSet beside a real API server: who waits for them, who does not, and what is admitted."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.control_plane import issuing
from components.model.teams.queues import JOBSET, KUEUE, MANAGERS, NAMESPACE, Manager, webhooks_name
from components.objects.queue_managers import CHECK
from contract.labels import TEAM_LABEL
from contract.object_names import GANGS
from longhaul.rotate.webhooks import trust_in_webhooks
from longhaul.toolchain.spec import load as load_spec
from tests.components.objects.conftest import ALONE
from tests.components.objects.stack import Stack
from tests.support.api_server import ApiServer, eventually
from tests.support.queue_managers import QueueManagers
from tests.support.queues import deployment, job, jobset, team_queue

pytestmark = pytest.mark.engine

VERSIONS = load_spec().versions
TEAM, OTHER = "visual", "services"
CORES = "4"
"""Cores that the team's queue may use."""
ALONE_SAID = "write in teams' namespaces alone"
POD = {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "1"}}}]}


@pytest.fixture(scope="module", name="queues")
def _queues(
    tmp_path_factory: pytest.TempPathFactory, binaries: dict[str, Path], cluster: ApiServer, managers: QueueManagers
) -> ApiServer:
    """Return the API server with the objects of an environment with queues, both programs, and a team's queue."""
    stack = Stack(tmp_path_factory.mktemp("stack"), pulumi=binaries["pulumi"], kubeconfig=cluster.kubeconfig)
    stack.declare("    queues: true\n")
    stack.build_infrastructure(kubernetes_ca=cluster.own_authority.certificate)
    stack.change(ALONE)
    stack.fill()
    managers.start_all()
    for name in (TEAM, OTHER):
        cluster.open_namespace(name)
    cluster.kubectl("label", "namespace", TEAM, f"{TEAM_LABEL}={TEAM}")
    apply(cluster, *team_queue(TEAM, cores=CORES))
    return cluster


def apply(cluster: ApiServer, *objects: dict[str, Any], check: bool = True) -> str:
    text = "\n---\n".join(map(json.dumps, objects))
    return cluster.kubectl("apply", "--server-side", "--filename=-", stdin=text, check=check)


def suspended(cluster: ApiServer, kind: str, name: str, where: str = TEAM) -> bool:
    return bool(cluster.get(kind, name, f"--namespace={where}")["spec"].get("suspend", False))


def pods(cluster: ApiServer, selector: str) -> int:
    return len(cluster.get("pods", f"--namespace={TEAM}", f"--selector={selector}")["items"])


def workloads(cluster: ApiServer) -> dict[str, bool]:
    """Return whether each of the team's jobs is admitted, by its name."""
    found = cluster.get("workloads.kueue.x-k8s.io", f"--namespace={TEAM}")["items"]
    return {
        one["metadata"]["ownerReferences"][0]["name"]: any(
            condition["type"] == "Admitted" and condition["status"] == "True"
            for condition in (one.get("status") or {}).get("conditions") or ()
        )
        for one in found
    }


@pytest.fixture(name="_empty", autouse=True)
def _no_jobs_left(queues: ApiServer) -> Iterator[None]:
    yield
    queues.kubectl("delete", "jobsets,jobs,deployments", "--all", f"--namespace={TEAM}", "--wait=true")
    eventually(lambda: workloads(queues) == {}, what="nothing queues any more")


def test_a_job_is_admitted_within_its_quota_and_the_next_one_waits(queues: ApiServer) -> None:
    apply(queues, job("first", 3, POD, where=TEAM))
    eventually(lambda: pods(queues, "job-name=first") == 3, what="the first job has its pods")
    apply(queues, job("second", 2, POD, where=TEAM))
    eventually(lambda: "second" in workloads(queues), what="the second job queues")
    assert suspended(queues, "job", "second")
    queues.kubectl("delete", "job", "first", f"--namespace={TEAM}")
    eventually(lambda: pods(queues, "job-name=second") == 2, what="the second job has its pods once there is room")


def test_a_jobset_of_two_roles_is_admitted_whole_or_not_at_all(queues: ApiServer) -> None:
    apply(queues, job("first", 3, POD, where=TEAM))
    eventually(lambda: workloads(queues).get("first"), what="the job is admitted")
    apply(queues, jobset("gang", {"leader": 1, "workers": 2}, POD, where=TEAM))
    eventually(lambda: workloads(queues).get("gang") is False, what="the set queues as one")
    assert suspended(queues, "jobset", "gang")
    assert pods(queues, "jobset.sigs.k8s.io/jobset-name=gang") == 0, "one role would have room"
    queues.kubectl("delete", "job", "first", f"--namespace={TEAM}")
    eventually(lambda: pods(queues, "jobset.sigs.k8s.io/jobset-name=gang") == 3, what="the set has all its pods")


def test_a_job_without_a_queue_goes_into_the_namespace_s_own(queues: ApiServer) -> None:
    plain = job("plain", 5, POD, where=TEAM)
    del plain["metadata"]["labels"]
    apply(queues, plain)
    assert suspended(queues, "job", "plain")


def test_namespaces_without_a_team_do_not_wait_for_them(queues: ApiServer, managers: QueueManagers) -> None:
    for manager in MANAGERS:
        managers.stop(manager)
    try:
        for where in ("kube-system", OTHER):
            apply(queues, deployment("free", POD, where=where))
            apply(queues, job("free", 1, POD, where=where))
            assert not suspended(queues, "job", "free", where)
        assert "failed calling webhook" in apply(queues, job("held", 1, POD, where=TEAM), check=False)
    finally:
        managers.start_all()
        for where in ("kube-system", OTHER):
            queues.kubectl("delete", "deployment,job", "free", f"--namespace={where}")
    apply(queues, job("held", 1, POD, where=TEAM))


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: manager.name)
def test_they_write_in_teams_namespaces_alone(queues: ApiServer, manager: Manager) -> None:
    own = queues.user(manager.user)
    others = ((where, ALONE_SAID) for where in (OTHER, "kube-system", NAMESPACE))
    for where, said in (*others, (TEAM, 'pod "a" deleted')):
        apply(queues, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": where}, "spec": POD})
        try:
            words = ("delete", "pod", "a", f"--namespace={where}", "--dry-run=server")
            assert said in queues.kubectl(*words, kubeconfig=own, check=False)
        finally:
            queues.kubectl("delete", "pod", "a", f"--namespace={where}", "--now")
    for what in ("secrets", "configmaps"):
        assert queues.kubectl("auth", "can-i", "get", what, "--all-namespaces", kubeconfig=own, check=False) == "no\n"
    assert f"{manager.name} " in queues.kubectl("get", "leases", f"--namespace={NAMESPACE}")


def test_a_job_that_must_have_nodes_asks_our_autoscaler_for_them(queues: ApiServer) -> None:
    check = queues.get("admissionchecks.kueue.x-k8s.io", CHECK)
    assert check["spec"]["parameters"]["name"] == CHECK

    def active() -> bool:
        found = queues.get("admissionchecks.kueue.x-k8s.io", CHECK)
        return any(one["type"] == "Active" and one["status"] == "True" for one in found["status"]["conditions"])

    eventually(active, what="the check is active")
    flavor, queue, local = team_queue(TEAM, cores=CORES)
    queue = {**queue, "metadata": {"name": "gangs"}}
    queue["spec"] = {**queue["spec"], "admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}
    local = {**local, "metadata": {"name": "gangs", "namespace": TEAM}, "spec": {"clusterQueue": "gangs"}}
    apply(queues, flavor, queue, local)
    gang = job("gang", 2, POD, where=TEAM)
    gang["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gangs"}
    apply(queues, gang)

    def requests() -> list[dict[str, Any]]:
        found = queues.get("provisioningrequests.autoscaling.x-k8s.io", f"--namespace={TEAM}")
        return list(found["items"])

    (request,) = eventually(requests, what="nodes are asked for")
    assert request["spec"]["provisioningClassName"] == GANGS
    assert [one["count"] for one in request["spec"]["podSets"]] == [2]
    assert suspended(queues, "job", "gang")


def test_a_new_certificate_of_another_authority_is_used_without_a_restart(
    queues: ApiServer, managers: QueueManagers
) -> None:
    """As while the authority of API servers is replaced."""
    former = queues.own_authority
    new = issuing.new_authority(common_name="test", days=30, key=issuing.new_key())
    api = queues.client(timeout_s=30)
    said: list[str] = []
    trust_in_webhooks(api, former.certificate + new.certificate, tell=said.append)
    assert len(said) == 2 * len(MANAGERS)
    apply(queues, deployment("before", POD, where=TEAM))
    for manager in MANAGERS:
        managers.issue(manager, new)
        eventually(lambda manager=manager: shows(manager, new), what=f"{manager.name} shows the new one")
    trust_in_webhooks(api, new.certificate, tell=said.append)
    trust_in_webhooks(api, new.certificate, tell=said.append)
    assert len(said) == 4 * len(MANAGERS), "nothing is changed twice"
    eventually(
        lambda: "applied" in apply(queues, deployment("after", POD, where=TEAM), check=False), what="it is believed"
    )
    (bundle,) = {
        one["clientConfig"]["caBundle"]
        for one in queues.get("mutatingwebhookconfiguration", webhooks_name(KUEUE))["webhooks"]
    }
    assert bundle
    apply(queues, jobset("small", {"a": 1}, POD, where=TEAM))
    eventually(lambda: workloads(queues).get("small"), what=f"{JOBSET.name} is believed, too")


def test_at_the_end_neither_was_refused_anything_that_it_asked_for(queues: ApiServer, managers: QueueManagers) -> None:
    """Rights that were left out are missed by nobody. After all other tests."""
    for manager in MANAGERS:
        said = managers.log(manager).read_text()
        assert f'"gitVersion":"v{VERSIONS[manager.name]}"' in said.replace(": ", ":")
        assert "forbidden" not in said.lower(), [line for line in said.splitlines() if "forbidden" in line.lower()][:3]


def shows(manager: Manager, authority: issuing.Pair) -> bool:
    """Return whether a program's webhooks show a certificate of an authority."""
    context = ssl.create_default_context(cadata=authority.certificate)
    try:
        connection = http.client.HTTPSConnection("127.0.0.1", manager.port, context=context, timeout=5)
        connection.connect()
    except ssl.SSLError:
        return False
    connection.close()
    return True
