"""The small scripts that roles run on machines, and the filters that compare and pack files."""

from __future__ import annotations

import os
import re
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.support.modules import module_at
from tests.support.programs import write_program

ROLES = Path(__file__).resolve().parents[2] / "playbooks" / "roles"


def sh(script: str, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}
    return subprocess.run(
        ["sh", "-s", "--", *arguments], input=script, env=environ, capture_output=True, text=True, check=False
    )


def program(folder: Path, name: str, text: str) -> None:
    write_program(folder / name, f"#!/bin/sh\n{text}\n")


@pytest.fixture(name="wanted")
def _wanted(tmp_path: Path) -> dict[str, dict[str, Any]]:
    owner = f"{tmp_path.owner()}:{tmp_path.group()}"
    return {
        str(tmp_path / name): {"content": f"{name} é\n", "mode": "0640", "owner": owner, "secret": False}
        for name in ("a", "b b", "c'c")
    }


def look(wanted: dict[str, dict[str, Any]]) -> str:
    return sh((ROLES / "machine_files" / "files" / "look.sh").read_text(), *wanted).stdout


def lay(wanted: dict[str, dict[str, Any]]) -> None:
    for path, file in wanted.items():
        Path(path).write_text(file["content"])
        Path(path).chmod(int(file["mode"], 8))


def test_files_that_are_as_wanted_do_not_differ(wanted: dict[str, dict[str, Any]]) -> None:
    differing = module_at(ROLES.parent / "filter_plugins" / "files.py").differing
    assert differing(wanted, look(wanted)) == wanted
    lay(wanted)
    assert differing(wanted, look(wanted)) == {}


@pytest.mark.parametrize("what", ["content", "mode", "gone"])
def test_whatever_differs_is_found_and_nothing_else(wanted: dict[str, dict[str, Any]], what: str) -> None:
    lay(wanted)
    path = Path(list(wanted)[1])
    if what == "content":
        path.write_text("else")
    elif what == "mode":
        path.chmod(0o600)
    else:
        path.unlink()
    assert list(module_at(ROLES.parent / "filter_plugins" / "files.py").differing(wanted, look(wanted))) == [str(path)]


def settle(folder: Path, *files: Path, unit: str = "thing", command: str = "echo ran >&2") -> tuple[int, str]:
    script = (ROLES / "settled" / "files" / "settle.sh").read_text()
    script = script.replace("/var/lib/longhaul/settled", str(folder / "remembered"))
    words = " ".join(f"'{file}'" for file in files)
    done = sh(f"{script}\nsettle {unit} '{command}' {words}", path=folder)
    return done.returncode, done.stdout


def test_a_unit_is_settled_once_for_each_state_of_its_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert settle(tmp_path, file) == (0, "thing\n")
    assert settle(tmp_path, file) == (0, "")
    file.write_text("1")
    assert settle(tmp_path, file) == (0, "thing\n")
    file.write_text("1")
    assert settle(tmp_path, file) == (0, "")
    file.write_text("2")
    assert settle(tmp_path, file) == (0, "thing\n")


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    assert settle(tmp_path, tmp_path / "file", command="false")[0] == 1
    assert settle(tmp_path, tmp_path / "file") == (0, "thing\n")


@pytest.mark.parametrize(("state", "runs"), [("active", ""), ("activating", ""), ("inactive", "it.service\n")])
def test_a_unit_that_does_not_run_is_started(tmp_path: Path, state: str, runs: str) -> None:
    program(tmp_path, "systemctl", f"echo {state}")
    settle(tmp_path, tmp_path / "file", unit="it.service")
    assert settle(tmp_path, tmp_path / "file", unit="it.service")[1] == runs


READY = '{"status": {"conditions": [{"type": "Ready", "status": "%s"}]}}'


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (READY % "True", 200, ["ready", "joined"]),
        (READY % "Unknown", 200, ["joined"]),
        ('{"status": {}}', 200, ["joined"]),
        ('{"kind": "Status"}', 404, ["absent", "joined"]),
        ('{"kind": "Status"}', 401, ["stranger"]),
        ('{"kind": "Status"}', 403, ["joined"]),
        ("", 0, ["joined"]),
    ],
)
def test_a_host_knows_whether_its_node_is_there_and_ready(
    tmp_path: Path, body: str, code: int, said: list[str]
) -> None:
    program(tmp_path, "openssl", "exit 0")
    program(tmp_path, "curl", f"echo $* >{tmp_path}/asked\nprintf '%s\\n%03d' '{body}' {code}")
    (tmp_path / "ca.crt").touch()
    assert membership(tmp_path) == said
    asked = (tmp_path / "asked").read_text().split()
    assert asked[-1] == "https://api:6443/api/v1/nodes/e-node-0"
    assert asked[asked.index("--cacert") + 1] == str(tmp_path / "ca.crt")
    assert "--insecure" not in asked


def test_a_host_that_cannot_know_the_api_believes_nobody(tmp_path: Path) -> None:
    program(tmp_path, "openssl", "exit 0")
    program(tmp_path, "curl", "printf '\n404'")
    assert membership(tmp_path) == ["joined"]


def membership(folder: Path) -> list[str]:
    certificate = folder / "kubelet.pem"
    certificate.touch()
    script = (ROLES / "node" / "files" / "membership.sh").read_text()
    words = (str(certificate), str(folder / "join"), "https://api:6443", "0", "e-node-0", str(folder / "ca.crt"))
    done = sh(script, *words, path=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


UNIT = """\
NRestarts={restarts}
Result={result}
ExecMainStatus={status}
Id={unit}.service
LoadState={load}
ActiveState={active}
SubState={sub}
ActiveEnterTimestampMonotonic={since}
InvocationID=7c1f

"""
"""The form of ``systemctl show`` (systemd 252): the service's properties, then the unit's."""
JOURNAL = """\
case $1 in
  _SYSTEMD_INVOCATION_ID=7c1f) echo 'loading the configuration'; echo 'panic: no' ;;
  _SYSTEMD_UNIT=*) echo 'panic: no'; echo 'starting' ;;
  *) echo 'a stray line' ;;
esac
"""


def unit(name: str, state: str, *, result: str = "success", status: int = 0, restarts: int = 0, ago: int = 0) -> str:
    """Return what ``systemctl show`` prints of a unit with that state, such as ``inactive/dead``."""
    active, sub = state.split("/")
    load = "not-found" if sub == "not-found" else "loaded"
    words = {"unit": name, "load": load, "active": active, "sub": "dead" if load == "not-found" else sub}
    return UNIT.format(result=result, status=status, restarts=restarts, since=f"@{ago}@", **words)


def services(folder: Path, shown: str | None, *needed: str, enabled: str = "none") -> tuple[int, str]:
    """Return exit code and output of the script where systemd shows these units; None when it cannot be asked."""
    now = int(float(Path("/proc/uptime").read_text().split()[0]))
    ages = re.sub(r"@(\d+)@", lambda age: str((now - int(age[1])) * 1_000_000), shown or "")
    (folder / "units").write_text(ages)
    show = "echo no bus >&2; exit 1" if shown is None else f"cat {folder}/units"
    program(folder, "systemctl", f'case $1 in show) {show} ;; is-enabled) [ "$3" = {enabled} ] ;; esac')
    program(folder, "journalctl", JOURNAL)
    done = sh((ROLES / "preflight" / "files" / "units.sh").read_text(), *needed, path=folder)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        (unit("kubelet", "active/running", ago=1), ""),
        (unit("kubelet", "active/running", restarts=7, ago=3600), ""),
        (unit("kubelet", "active/running", restarts=2, ago=1), ""),
        (unit("kubelet", "inactive/dead"), ""),
        (
            unit("kubelet", "active/running", restarts=7, ago=5),
            "is restarted again and again, 7 times so far (active (running), Result=success): panic: no | starting",
        ),
        (
            unit("kubelet", "activating/auto-restart", result="exit-code", status=255, restarts=7, ago=3600),
            "is restarted again and again, 7 times so far (activating (auto-restart), Result=exit-code, "
            "ExecMainStatus=255): panic: no | starting",
        ),
        (
            unit("kubelet", "failed/failed", result="oom-kill", status=9),
            "has failed (failed (failed), Result=oom-kill, ExecMainStatus=9): loading the configuration | panic: no",
        ),
    ],
    ids=["fine", "settled", "twice", "stopped", "crashes now and then", "crashes at its start", "killed"],
)
def test_a_service_that_fails_is_told_with_its_result_and_its_last_lines(
    tmp_path: Path, shown: str, message: str
) -> None:
    told = f"unhealthy kubelet.service {message}\n" if message else ""
    assert services(tmp_path, unit("containerd", "active/running") + shown) == (0, told)


@pytest.mark.parametrize(
    ("shown", "result"),
    [
        (unit("strongswan", "active/running"), (0, "")),
        (
            unit("strongswan", "inactive/dead"),
            (0, "unhealthy strongswan.service does not run (inactive (dead), Result=success)\n"),
        ),
        (unit("strongswan", "inactive/not-found"), (0, "unhealthy strongswan.service is not installed\n")),
        ("", (0, "unhealthy strongswan.service is not known to systemd\n")),
        (None, (1, "")),
    ],
    ids=["runs", "stopped", "not installed", "not told of", "systemctl fails"],
)
def test_a_service_that_must_run_is_told_when_it_does_not(
    tmp_path: Path, shown: str | None, result: tuple[int, str]
) -> None:
    assert services(tmp_path, shown, "strongswan.service") == result


@pytest.mark.parametrize(
    ("enabled", "stopped"),
    [
        ("none", set()),
        ("longhaul-gateway-firewall.service", {"strongswan.service"}),
        ("longhaul-node.target", {"kubelet.service"}),
    ],
)
def test_a_machine_that_was_set_up_needs_its_services_also_in_a_preflight(
    tmp_path: Path, enabled: str, stopped: set[str]
) -> None:
    fine = "".join(unit(name, "active/running") for name in ("containerd", "longhaul-gateway-firewall"))
    ill = "".join(unit(name, "inactive/dead") for name in ("kubelet", "strongswan"))
    _, told = services(tmp_path, fine + ill, enabled=enabled)
    assert {line.split()[1] for line in told.splitlines()} == stopped


SAS = """\
a-0: #1, ESTABLISHED, IKEv2, 1_i 2_r
  a-0: #1, reqid 1, INSTALLED, TUNNEL-in-UDP, ESP:AES_GCM_16-256
b-0: #2, CONNECTING, IKEv2, 3_i 0_r
"""


def tunnels(folder: Path, sas: str, *pairs: str, seconds: int = 0) -> list[str]:
    program(folder, "swanctl", f"case $1 in --list-sas) cat <<'E'\n{sas}E\n;; *) echo $* >> {folder}/dialled ;; esac")
    script = (ROLES / "gateway" / "files" / "tunnels.sh").read_text()
    done = sh(script, str(seconds), *pairs, path=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_one_tunnel_to_a_site_is_enough(tmp_path: Path) -> None:
    assert tunnels(tmp_path, SAS, "a=a-0", "a=a-1", seconds=60) == ["up a-0"]
    assert not (tmp_path / "dialled").exists()


def test_a_site_without_a_tunnel_is_named_once(tmp_path: Path) -> None:
    assert tunnels(tmp_path, SAS, "a=a-0", "b=b-0", "b=b-1") == ["up a-0", "none b"]


def test_what_is_down_is_dialled_until_the_time_is_over(tmp_path: Path) -> None:
    program(tmp_path, "date", f"echo a second >> {tmp_path}/clock; wc -l < {tmp_path}/clock")
    assert tunnels(tmp_path, SAS, "b=b-0", seconds=3) == ["none b"]
    assert (tmp_path / "dialled").read_text().count("--initiate --child b-0") == 2


COUNTED = """\
a-gw-0-0: #1, ESTABLISHED, IKEv2, 1_i 2_r
  a-gw-0-0: #4, reqid 1, REKEYED, TUNNEL-in-UDP, ESP:AES_GCM_16-256
    installed 3000s ago
    in  c1 (-|0x00000001),     10 bytes,     1 packets,     5s ago
    out c2,     20 bytes,     1 packets
    local  10.4.0.0/16
  a-gw-0-0: #5, reqid 1, INSTALLED, TUNNEL-in-UDP, ESP:AES_GCM_16-256
    in  c3,      0 bytes,     0 packets
    out c4, 123456789012 bytes, 99999 packets,     0s ago
b-gw-0-0: #2, CONNECTING, IKEv2, 3_i 0_r
"""


@pytest.mark.parametrize(
    ("swanctl", "told"),
    [
        (f"cat <<'E'\n{COUNTED}E", ["carried", "carried a-gw-0-0 10 20", "carried a-gw-0-0 0 123456789012"]),
        ("", ["carried"]),
        ("echo connecting failed >&2; exit 111", []),
    ],
    ids=["two pairs of keys", "no tunnel", "does not answer"],
)
def test_tunnels_tell_what_they_have_carried(tmp_path: Path, swanctl: str, told: list[str]) -> None:
    program(tmp_path, "swanctl", swanctl)
    program(tmp_path, "sudo", 'shift; "$@"')
    done = sh((ROLES / "gateway" / "files" / "traffic.sh").read_text(), path=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (0, told), done.stderr


def test_packed_files_keep_content_mode_and_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tarfile

    archive = module_at(ROLES.parent / "lookup_plugins" / "longhaul_archive.py")
    monkeypatch.setattr(archive.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    files = {"/etc/x": {"content": "é", "mode": "0640", "owner": "root:adm", "secret": False}}
    with tarfile.open(archive._pack(files)) as packed:
        (entry,) = packed.getmembers()
        found = packed.extractfile(entry)
        assert found is not None
        assert sha256(found.read()).digest() == sha256("é".encode()).digest()
    assert (entry.name, entry.mode, entry.uname, entry.gname) == ("etc/x", 0o640, "root", "adm")
