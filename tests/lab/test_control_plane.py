"""The control plane of the shared lab: etcd clusters, secrets, certificates, and the effects of a changed file."""

from __future__ import annotations

import json

import pytest

from components.control_plane import issuing
from longhaul.terminal.exits import Exit
from tests.support.project import Project, eventually
from tests.support.shared_lab import ENV, SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

ETCD, EVENTS, API = f"{ENV}-etcd-0", f"{ENV}-events-0", f"{ENV}-api-0"

ETCDCTL = (
    'address=$(python3 -c \'import json; print(json.load(open("/etc/longhaul/node.json"))["address"])\'); '
    "ETCDCTL_CACERT=/etc/longhaul/pki/etcd-ca.crt ETCDCTL_CERT=/etc/longhaul/pki/client.pem "
    "ETCDCTL_KEY=/etc/longhaul/pki/client.pem etcdctl --endpoints https://$address:2379"
)

TOKEN = """
metadata=http://169.254.169.254/metadata/identity/oauth2/token
query='api-version=2018-02-01&resource=https://vault.azure.net'
read() { python3 -c "import json,sys; print(json.load(sys.stdin)['$1'])"; }
token=$(curl -sf -H 'Metadata: true' "$metadata?$query" | read access_token)
vault=$(read vault < /etc/longhaul/secrets.json)
"""

ASK = (
    'curl -s -o /dev/null -w "$name %{http_code}\\n" -H "Authorization: Bearer $token" '
    '"$vault/secrets/$name?api-version=7.5"'
)


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


SKIPPING = ("--yes", "--only", "infrastructure", "--", "--skip-preview")


def _keys(project: Project, machine: str) -> list[str]:
    return project.on(machine, f"{ETCDCTL} get /registry --prefix --keys-only").stdout.split()


def test_the_api_answers_kubectl_on_the_host(project: Project) -> None:
    assert "readyz check passed" in project.kubectl("get", "--raw", "/readyz?verbose").stdout
    assert "kube-system" in project.kubectl("get", "namespaces").stdout


def test_the_shell_of_the_command_reaches_a_machine(project: Project) -> None:
    assert project.longhaul("shell", f"{ENV}-api-0", "--", "hostname").stdout.strip() == f"{ENV}-api-0"


def test_events_are_in_their_own_store_and_nowhere_else(project: Project) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "split", "namespace": "default"},
        "involvedObject": {"kind": "Namespace", "name": "default", "namespace": "default"},
        "reason": "Test",
        "message": "made by a test",
    }
    project.create(event)
    main, events = _keys(project, ETCD), _keys(project, EVENTS)
    assert "/registry/events/default/split" in events
    assert all(key.startswith("/registry/events/") for key in events if key.startswith("/registry/"))
    assert main
    assert not [key for key in main if key.startswith("/registry/events/")]


def test_secrets_are_encrypted_at_rest(project: Project) -> None:
    project.kubectl("create", "secret", "generic", "hidden", "--from-literal=word=quicksilver")
    stored = project.on(ETCD, f"{ETCDCTL} get /registry/secrets/default/hidden").stdout
    assert "k8s:enc:" in stored
    assert "quicksilver" not in stored


def test_the_api_server_stays_ready_without_the_events_store(project: Project) -> None:
    project.on(EVENTS, "systemctl stop etcd")
    try:
        excluded = "/readyz?exclude=etcd-override-0&exclude=etcd-override-readiness-0"
        assert project.kubectl("get", "--raw", excluded).stdout.strip() == "ok"
        project.kubectl("create", "configmap", "written-without-events")
    finally:
        project.on(EVENTS, "systemctl start etcd")


def test_only_health_is_anonymous(project: Project) -> None:
    ask = "curl -sk -o /dev/null -w '%{http_code}' https://127.0.0.1:6443"
    assert project.on(API, f"{ask}/livez").stdout.strip() == "200"
    for path in ("/api", "/version", "/metrics", "/apis", "/openapi/v2"):
        assert project.on(API, f"{ask}{path}").stdout.strip() == "401", path


def test_machines_read_their_own_secrets_only(project: Project) -> None:
    names = f"{ETCD}-member {EVENTS}-member ca-etcd service-account-keys"
    script = f"{TOKEN}\nfor name in {names}; do {ASK}; done"
    answers = dict(line.split() for line in project.on(ETCD, script).stdout.splitlines())
    assert answers == {
        f"{ETCD}-member": "200",
        f"{EVENTS}-member": "403",
        "ca-etcd": "403",
        "service-account-keys": "403",
    }


def test_a_member_has_no_way_to_the_internet(project: Project) -> None:
    assert project.on(ETCD, "curl -s --max-time 5 http://198.51.100.1/", check=False).returncode != 0


def test_neither_state_nor_user_data_nor_logs_hold_a_private_key(project: Project) -> None:
    exported = project.engine("stack", "export", "--show-secrets").stdout
    assert "CERTIFICATE-----" in exported
    assert "PRIVATE KEY" not in exported
    logs = [path for path in (project.path / ".lab" / "log").rglob("*") if path.is_file()]
    assert logs
    assert not [str(path) for path in logs if b"PRIVATE KEY" in path.read_bytes()]


def test_a_certificate_near_its_end_is_renewed_and_reaches_the_running_server(project: Project) -> None:
    before = _serving_certificate(project)
    exported = json.loads(project.engine("stack", "export").stdout)
    resources = exported["deployment"]["resources"]
    state = next(resource for resource in resources if resource["urn"].endswith(f"::{API}-apiserver"))
    state["outputs"]["certificate"] = _certificate_at_its_end()
    path = project.path / "state.json"
    path.write_text(json.dumps(exported), encoding="utf-8")
    project.engine("stack", "import", "--file", str(path))
    summary = json.loads(project.longhaul("plan", "--raw", "--format", "json").stdout)
    assert (summary["update"], summary["replace"]) == (1, 0)
    project.longhaul("up", *SKIPPING)
    project.on(API, "systemctl start longhaul-secrets-refresh")
    project.on(API, _until(f'serial=$({SERIAL}) && [ "$serial" != "{before}" ]'))
    assert project.kubectl("get", "--raw", "/readyz").stdout.strip() == "ok"


SERIAL = "openssl s_client -connect 127.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -serial"


def _certificate_at_its_end() -> str:
    """Return a certificate that is five minutes old and valid for one second more."""
    authority = issuing.new_authority(common_name="any", days=1, key=issuing.new_key())
    return issuing.issue(issuing.Subject(common_name="any", days=1 / 86400), authority=authority).certificate


def _serving_certificate(project: Project) -> str:
    return project.on(API, SERIAL).stdout.strip()


def _until(condition: str) -> str:
    return f"for i in $(seq 300); do {condition} && exit 0; sleep 1; done; exit 1"


def test_a_changed_vault_with_another_officer_touches_no_secret(project: Project) -> None:
    raw = project.read()
    officers = {"00000000-0000-4000-8000-0000000000ff": "user", **raw["access"]["vault_officers"]}
    access = {**raw["access"], "vault_officers": officers, "operators": ["198.51.100.2/32", "203.0.113.0/24"]}
    project.write({**raw, "access": access})
    try:
        summary = json.loads(project.longhaul("plan", "--raw", "--format", "json").stdout)
        assert (summary["create"], summary["update"], summary["replace"], summary["delete"]) == (1, 1, 0, 0)
    finally:
        project.write(raw)


def test_a_machine_that_lost_power_comes_back(project: Project) -> None:
    project.cut_power(ETCD)
    project.lab("power", ETCD, "on")
    eventually(lambda: project.phase(ETCD) == "running")
    project.on(ETCD, _until("longhaul-node ready >/dev/null 2>&1"))
    # A moment later the API server dials its etcd again, and the load balancer finds the server ready.
    eventually(lambda: project.kubectl("get", "--raw", "/readyz", check=False).stdout.strip() == "ok")
    project.kubectl("create", "configmap", "written-after-power-cut")


def test_the_only_member_is_not_replaced(project: Project) -> None:
    raw = project.read()
    changed = {
        **raw,
        "control_plane": {**raw["control_plane"], "etcd": {**raw["control_plane"]["etcd"], "quota_gib": 4}},
    }
    project.write(changed)
    try:
        done = project.longhaul("up", "--yes", "--only", "infrastructure", check=False)
        assert done.returncode == Exit.REFUSED
        assert "The etcd cluster has one member" in done.stderr
        done = project.longhaul("up", *SKIPPING, check=False)
        assert done.returncode == Exit.FAILED
        assert "only member" in done.stdout + done.stderr
        assert project.kubectl("get", "configmap", "written-after-power-cut").returncode == 0
    finally:
        project.write(raw)
    project.longhaul("up", *SKIPPING)
