"""``longhaul vpn`` up to the start of OpenVPN: admission, what is written, and every way in which it fails."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import jwt
import pytest

from longhaul.client import cli
from longhaul.client.profile import Profile
from longhaul.client.tokens import Tokens, TokenStore
from longhaul.client.vpn import admission, names, openvpn, openvpn_file, privileges, session
from longhaul.client.vpn import endpoint as doors_of
from longhaul.client.vpn.admission import Admission, parse
from longhaul.client.vpn.key import new_key, request
from longhaul.client.vpn.management import EndedError, Management, listening
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.client.test_profile import CORP, PROFILE
from tests.support.alone import NEEDS_ROOT
from tests.support.api_server import eventually
from tests.support.programs import write_program
from tests.support.vpn_stand_in import NAME, WITHIN, Endpoint, Machines, doors, endpoint

MACHINES = Machines()
TOKEN = "e30.e30.x"
KEY = new_key()


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(name="door")
def _door(tmp_path: Path) -> Iterator[Endpoint]:
    def reply(_token: str, content: dict[str, Any]) -> tuple[int, Any]:
        return 200, MACHINES.answer(content["csr"], person="corp:a-1")

    with endpoint(MACHINES, tmp_path, reply) as found:
        yield found


def profile(*urls: str) -> Profile:
    return replace(PROFILE, expires="2100-01-01T00:00:00+00:00", vpn=doors(MACHINES, *urls))


def dead() -> str:
    """Return the URL of an endpoint where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"https://127.0.0.1:{free.getsockname()[1]}"


def keep(home: Path, said: Profile) -> None:
    (home / "profile.json").write_text(said.text())
    TokenStore(CORP, said.place()).write(Tokens(id_token=TOKEN, refresh_token="", ends=time.time() + 3600))


def vpn(home: Path, said: Profile, *words: str) -> int:
    keep(home, said)
    return cli.main(["vpn", "--profile", "profile.json", *words])


def test_a_file_for_another_program_is_written(home: Path, door: Endpoint, capsys: pytest.CaptureFixture[str]) -> None:
    """The first endpoint is away."""
    assert vpn(home, profile(dead(), door.url), "--write-only", "--json") == Exit.OK
    out, err = capsys.readouterr()
    said = json.loads(out)
    path = Path(said["path"])
    text = path.read_text()
    assert (path.stat().st_mode & 0o777, said["zones"]) == (0o600, ["lab.internal", "cluster.local"])
    for line in (
        "remote 192.0.2.1 1194",
        f"verify-x509-name {NAME} name",
        "remote-cert-tls server",
        "<tls-crypt>",
        "route 10.96.0.0 255.240.0.0",
        'pull-filter ignore ""',
        "script-security 1",
    ):
        assert line in text
    assert "valid for 60 minutes" in err or "valid for 59 minutes" in err
    ((token, content),) = door.asked
    assert token == TOKEN
    assert "PRIVATE KEY" not in content["csr"]
    assert TOKEN not in out + err + text


@pytest.mark.parametrize(
    ("status", "body", "code", "why"),
    [
        (
            401,
            {"error": "the token is refused"},
            Exit.FAILED,
            "refuses the token: the token is refused. Run `longhaul login`",
        ),
        (403, {"error": "no group"}, Exit.FAILED, "does not let you in: no group. Ask the environment's operator"),
        (403, b"\xff", Exit.FAILED, "does not let you in. Ask"),
        (400, {"error": "no request"}, Exit.FAILED, "does not take the request: no request"),
        (429, {"error": "too many"}, Exit.UNREACHABLE, "HTTP status 429: too many"),
        (503, {"error": "no API server"}, Exit.UNREACHABLE, "HTTP status 503: no API server): is this machine"),
        (200, {}, Exit.UNREACHABLE, "its answer is not a VPN machine's"),
        (200, b"[" * 100_000, Exit.UNREACHABLE, "its answer is not a VPN machine's"),
        (403, {"error": "\x1b[2Jgone"}, Exit.FAILED, "?[2Jgone"),
    ],
)
def test_a_refusal_says_what_to_do(
    home: Path, door: Endpoint, capsys: pytest.CaptureFixture[str], status: int, body: Any, code: Exit, why: str
) -> None:
    door.reply = lambda _token, _content: (status, body)
    assert vpn(home, profile(door.url), "--write-only") == code
    err = capsys.readouterr().err
    assert why in err
    assert TOKEN not in err
    assert not (home / "state/longhaul/vpn").exists()


def test_a_token_with_thousands_of_groups_is_said_before_anybody_is_asked(
    home: Path, door: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    said = profile(door.url)
    (home / "profile.json").write_text(said.text())
    token = jwt.encode({"groups": [f"team-{number}" for number in range(5000)]}, "x" * 32)
    TokenStore(CORP, said.place()).write(Tokens(id_token=token, refresh_token="", ends=time.time() + 3600))
    assert cli.main(["vpn", "--profile", "profile.json", "--write-only"]) == Exit.FAILED
    assert "VPN machines take 24: your company puts too many groups into it. Ask" in capsys.readouterr().err
    assert door.asked == []


def test_nobody_answers_and_nobody_else_is_believed(
    home: Path, door: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second has a certificate of another authority, the third another name."""
    stranger = replace(profile(door.url), vpn=doors(Machines(), dead(), door.url))
    assert vpn(home, stranger, "--write-only") == Exit.UNREACHABLE
    err = capsys.readouterr().err
    assert "Connection refused" in err
    assert "CERTIFICATE_VERIFY_FAILED" in err
    renamed = profile(door.url)
    assert renamed.vpn is not None
    assert vpn(home, replace(renamed, vpn=replace(renamed.vpn, name="other.lab.internal")), "--write-only") == 3
    assert "Hostname mismatch" in capsys.readouterr().err
    assert door.asked == [], "no token was sent to a stranger"


def test_a_profile_without_a_vpn_and_wrong_usage_are_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vpn(home, replace(profile(dead()), vpn=None)) == Exit.FAILED
    assert "names no VPN: ask the environment's operator" in capsys.readouterr().err
    assert vpn(home, profile(dead()), "--json") == Exit.USAGE


def test_openvpn_that_is_missing_or_old_is_said_before_anybody_signs_in(
    home: Path, door: Endpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privileges, "SYSTEM_FOLDERS", (str(home / "bin"),))
    monkeypatch.setattr(privileges, "_may_change", lambda _path: False)
    monkeypatch.setenv("PATH", "")
    assert vpn(home, profile(door.url)) == Exit.FAILED
    assert "`openvpn` is missing in the system's folders: install it" in capsys.readouterr().err
    write_program(home / "bin/openvpn", "#!/bin/sh\necho OpenVPN 2.4.7 x86_64\n")
    assert vpn(home, profile(door.url)) == Exit.FAILED
    assert "older than OpenVPN 2.5" in capsys.readouterr().err
    assert door.asked == []


@NEEDS_ROOT
def test_with_sudo_no_program_is_run_that_the_person_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by PATH nor from a folder of the person's, nor by a link into one."""
    with tempfile.TemporaryDirectory() as parent:
        own, system, linked = (Path(parent) / name for name in ("own", "system", "linked"))
        Path(parent).chmod(0o755)
        write_program(own / "openvpn", "#!/bin/sh\n")
        os.chown(own, 65534, 65534)
        linked.mkdir()
        (linked / "openvpn").symlink_to(own / "openvpn")
        write_program(system / "openvpn", "#!/bin/sh\n")
        monkeypatch.setenv("PATH", str(own))
        assert privileges.system_program("openvpn") == str(own / "openvpn"), "root says itself what it runs"
        # What is above a folder for all is not the matter here.
        monkeypatch.setattr(privileges, "_above", lambda path: (path, path.parent))
        os.seteuid(65534)
        try:
            for folders, found in (((own, linked), None), ((own, linked, system), str(system / "openvpn"))):
                monkeypatch.setattr(privileges, "SYSTEM_FOLDERS", tuple(map(str, folders)))
                assert privileges.system_program("openvpn") == found
        finally:
            os.seteuid(0)


@pytest.mark.parametrize(("version", "signal"), [("2.6.14", "SIGUSR1"), ("2.7.0", "SIGHUP"), ("3.0", "SIGHUP")])
def test_the_certificate_is_read_again_at_a_signal_of_the_version(tmp_path: Path, version: str, signal: str) -> None:
    write_program(tmp_path / "openvpn", f"#!/bin/sh\necho OpenVPN {version} x86_64\nexit 1\n")
    assert openvpn.reading_signal(str(tmp_path / "openvpn")) == signal


def test_openvpn_s_last_words_are_told(
    home: Path, door: Endpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        '#!/bin/sh\n[ "$1" != --version ] || { echo OpenVPN 2.6.14; exit; }\necho Cannot open TUN/TAP dev; exit 1\n'
    )
    write_program(home / "bin/openvpn", script)
    write_program(home / "bin/sudo", '#!/bin/sh\n[ "$1" = -- ] && shift\nexec "$@"\n')
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(openvpn, "system_program", lambda _name: str(home / "bin/openvpn"))
    assert vpn(home, profile(door.url)) == Exit.FAILED
    assert "openvpn ended with status 1: Cannot open TUN/TAP dev (its whole output: " in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_one_that_is_ended_leaves_no_folder(home: Path, door: Endpoint, how: signal.Signals) -> None:
    """The moment at which sudo asks for a password is the longest."""
    script = f'#!/bin/sh\n[ "$1" != --version ] || {{ echo OpenVPN 2.6.14; exit; }}\n: > {home}/runs\nexec sleep 5\n'
    write_program(home / "bin/openvpn", script)
    keep(home, profile(door.url))
    run = (
        "import signal, sys; from longhaul.client import cli; from longhaul.client.vpn import openvpn, session\n"
        # The tests' own run may ignore it, as with nohup(1).
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        f"openvpn.program = lambda: {str(home / 'bin/openvpn')!r}; openvpn.as_root = list; session.END_S = 0.1\n"
        "sys.exit(cli.main(['vpn', '--profile', 'profile.json']))"
    )
    # A test's own folder may have a path that is too long for a socket.
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        environment = {**os.environ, "TMPDIR": temporary}
        with subprocess.Popen([sys.executable, "-c", run], env=environment, start_new_session=True) as process:
            eventually((home / "runs").exists, what="OpenVPN runs")
            assert len(os.listdir(temporary)) == 1
            process.send_signal(how)
            assert process.wait(20) == 128 + how
        assert os.listdir(temporary) == []


def test_a_folder_too_long_for_a_socket_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="set TMPDIR to a short folder"), listening(tmp_path / ("x" * 108)):
        pass


def test_a_second_connection_to_the_same_environment_is_refused(home: Path) -> None:
    with (
        session.connection_lock("lab"),
        pytest.raises(CommandError, match="runs on this machine already"),
        session.connection_lock("lab"),
    ):
        pass


def answer(**changes: Any) -> dict[str, Any]:
    return {**MACHINES.answer(request(KEY), person="corp:a-1"), **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"certificate": "x\nup /bin/sh"},
        {"tls_crypt": "</tls-crypt>\nscript-security 2\n"},
        {"remotes": []},
        {"remotes": [{"address": "192.0.2.1\nup /bin/sh", "port": 1194}]},
        {"remotes": [{"address": "192.0.2.1", "port": "1194 tcp"}]},
        {"remotes": [{"address": "192.0.2.1", "port": 1194}] * 17},
        {"lasts_s": "3600"},
        {"lasts_s": 0},
        {"lasts_s": float("nan")},
        {"lasts_s": 1e12},
    ],
)
def test_what_would_change_openvpn_s_file_is_no_answer(changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        parse(answer(**changes), name=NAME, inside=WITHIN)


def test_only_what_has_the_form_of_a_certificate_is_taken() -> None:
    good = answer()
    wrapped = {**good, "certificate": f"</cert>\nup /bin/sh\n{good['certificate']}after"}
    found, plain = (parse(one, name=NAME, inside=WITHIN) for one in (wrapped, good))
    assert replace(found, expires=plain.expires) == plain
    assert openvpn_file.file_contents(found, KEY)["cert"] == good["certificate"]


class Renewal:
    """A session whose renewals are counted, and the other end of its connection."""

    def __init__(self, folder: Path, life: timedelta) -> None:
        self.first = replace(parse(answer(), name=NAME, inside=WITHIN), expires=datetime.now(UTC) + life)
        self.error: CommandError | None = None
        self.asked = 0
        self.folder = folder
        ours, self.openvpn = socket.socketpair()
        self.management = Management(ours)
        self.session = session.VpnSession(
            name="lab", folder=folder, renew=self.renew, signal="SIGUSR1", first=self.first
        )

    def renew(self) -> Admission:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return replace(self.first, expires=datetime.now(UTC) + timedelta(hours=1))

    def follow(self) -> None:
        """Follow until OpenVPN hangs up; each line that it says is followed by a look at the time."""
        self.openvpn.sendall(b">INFO:one\n>INFO:two\n")
        self.openvpn.shutdown(socket.SHUT_WR)
        self.session.follow(self.management)


def test_a_certificate_is_renewed_once_its_time_has_come(tmp_path: Path) -> None:
    later = Renewal(tmp_path, timedelta(hours=1))
    with pytest.raises(EndedError):
        later.follow()
    assert later.asked == 0
    due = Renewal(tmp_path, timedelta(0))
    with pytest.raises(EndedError):
        due.follow()
    assert due.asked == 1
    assert due.openvpn.recv(1000) == b"state on\nsignal SIGUSR1\n"
    assert (tmp_path / "cert").read_text() == due.first.certificate


@pytest.mark.parametrize("off", [-600, 600])
def test_a_clock_that_is_wrong_does_not_matter(monkeypatch: pytest.MonkeyPatch, off: int) -> None:
    """A company may give tokens of ten minutes, and a laptop's clock may be as far off."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + timedelta(seconds=off)

    for module in (session, admission):
        monkeypatch.setattr(module, "datetime", Clock)
    wrong = Clock.now(UTC)
    expires, due = session._times(parse(answer(lasts_s=600), name=NAME, inside=WITHIN))
    assert abs(expires - wrong - timedelta(minutes=10)) < timedelta(seconds=30)
    assert abs(due - wrong - timedelta(minutes=7.5)) < timedelta(seconds=30)


def test_a_renewal_that_fails_is_told_and_ends_with_the_certificate_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "VPN_RENEWED_AT", 0.0)
    away = Renewal(tmp_path, timedelta(hours=1))
    away.error = CommandError("run `longhaul login`", code=Exit.UNREACHABLE)
    with pytest.raises(EndedError):
        away.follow()
    assert away.asked == 1, "a while passes before the next"
    assert "the certificate is not renewed yet, and expires at" in capsys.readouterr().err
    ended = Renewal(tmp_path, timedelta(0))
    ended.error = away.error
    with pytest.raises(
        CommandError, match="the certificate has expired, and it could not be renewed: run `longhaul login`"
    ):
        ended.follow()
    out = Renewal(tmp_path, timedelta(hours=1))
    out.error = doors_of.NotAdmittedError("revoked")
    with pytest.raises(CommandError, match="revoked"):
        out.follow()


def test_an_address_by_which_other_traffic_would_be_taken_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system sends the whole range of a device's address through it, whatever the routes are."""
    named: list[str] = []
    monkeypatch.setattr(session, "resolve", lambda device, _inside: named.append(device))
    for address, mask, fits in (
        ("10.99.0.2", "255.255.255.0", True),
        ("10.99.0.2", "128.0.0.0", False),
        ("192.168.1.7", "255.255.255.0", False),
        ("10.99.0.2", "", False),
    ):
        one, said = Renewal(tmp_path, timedelta(hours=1)), f"{address}/{mask}"
        lines = ("UP", "ENV,dev=tun3", f"ENV,ifconfig_local={address}", f"ENV,ifconfig_netmask={mask}", "ENV,END")
        one.openvpn.sendall("".join(f">UPDOWN:{line}\n" for line in lines).encode())
        with pytest.raises(
            EndedError if fits else CommandError, match=None if fits else f"the address {said}, outside"
        ):
            one.follow()
    assert named == ["tun3"]


def test_no_file_has_what_root_s_openvpn_does(tmp_path: Path) -> None:
    """Files of the person's are named for keys and certificates alone, and nothing comes after the word on scripts."""
    words = openvpn_file.arguments(parse(answer(), name=NAME, inside=WITHIN), tmp_path)
    files = [before for before, word in itertools.pairwise(words) if str(tmp_path) in word]
    assert files == ["--ca", "--cert", "--key", "--tls-crypt"]
    assert "--config" not in words
    assert words[-2:] == ["--script-security", "1"]


def test_names_are_asked_for_inside_or_the_person_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(names, "RESOLVED", tmp_path / "none")
    names.resolve("tun3", WITHIN)
    assert "because there is no systemd-resolved: point your resolver at 10.96.0.10" in capsys.readouterr().err
    monkeypatch.setattr(names, "RESOLVED", tmp_path)
    monkeypatch.setattr(names, "as_root", lambda command, ask: command)
    monkeypatch.setattr(names, "system_program", lambda _name: str(tmp_path / "resolvectl"))
    write_program(tmp_path / "resolvectl", f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n')
    names.resolve("tun3", WITHIN)
    assert (tmp_path / "said").read_text() == "dns tun3 10.96.0.10\ndomain tun3 ~lab.internal ~cluster.local\n"
    write_program(tmp_path / "resolvectl", "#!/bin/sh\necho Access denied >&2; exit 1\n")
    names.resolve("tun3", WITHIN)
    assert (
        f"(Access denied): sudo {tmp_path}/resolvectl dns tun3 10.96.0.10; sudo {tmp_path}/resolvectl"
        in capsys.readouterr().err
    )


def test_a_request_is_of_the_key_and_missing_openssl_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read = ["openssl", "req", "-noout", "-verify", "-pubkey"]
    done = subprocess.run(read, input=request(KEY), capture_output=True, text=True, check=True)
    own = subprocess.run(["openssl", "pkey", "-pubout"], input=KEY, capture_output=True, text=True, check=True)
    assert own.stdout == done.stdout
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="`openssl`, which makes keys, is missing"):
        new_key()
