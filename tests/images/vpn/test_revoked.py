"""People whose access was revoked, at a VPN machine: OpenVPN refuses them, and their sessions end."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quarantine.refusal_lists import digest_of
from vpn import checks as vpn_checks
from vpn import verify as vpn_verify

from contract.documents.revoked import Revoked, RevokedPerson
from tests.images.machines import ROOTFS

ALICE = "corp:a-1"


def test_openvpn_refuses_the_revoked_and_everybody_without_a_list(tmp_path: Path) -> None:
    path = tmp_path / "revoked.json"
    person = RevokedPerson(name=ALICE, since="2030-01-01T00:00:00+00:00", by="anna")
    path.write_text(Revoked(people=(person,)).text())
    assert not vpn_verify.is_let_in("0", ALICE, path=str(path))
    assert vpn_verify.is_let_in("0", "corp:b-2", path=str(path))
    assert vpn_verify.is_let_in("1", "", path=str(path))
    assert not vpn_verify.is_let_in("0", "", path=str(path))
    path.write_text("[]")
    assert not vpn_verify.is_let_in("0", "corp:b-2", path=str(path))
    path.unlink()
    assert not vpn_verify.is_let_in("0", "corp:b-2", path=str(path))


def test_openvpn_is_held_up_by_few_modules() -> None:
    """It moves no packet while the program runs: for the authority's certificate nothing is loaded."""
    program = f"{ROOTFS}/usr/local/lib/longhaul/vpn/verify.py"
    first = Path(program).read_text().partition("\n")[0]
    assert first == "#!/usr/bin/python3 -IS"
    loaded = {}
    for depth in ("0", "1"):
        words = [sys.executable, "-BIS", "-X", "importtime", program, depth]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == (1 if depth == "0" else 0), done.stderr
        loaded[depth] = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "json" in loaded["0"]
    assert not {"json", "site"} & loaded["1"]
    assert not {"logging", "pathlib", "subprocess", "http.client", "site"} & loaded["0"]


def test_a_machine_tells_whom_it_refuses_once_their_sessions_are_over(tmp_path: Path) -> None:
    path, management = tmp_path / "revoked.json", tmp_path / "management.sock"
    path.write_text(Revoked(people=(RevokedPerson(name=ALICE, since="x", by="anna"),)).text())
    silent = vpn_checks.refused(path=path, management=management)
    digest = digest_of((ALICE,))
    assert (silent.digest, silent.loaded) == (digest, False)
    commands: list[str] = []
    with _management(management, commands):
        told = vpn_checks.refused(path=path, management=management)
    assert (told.digest, told.loaded, told.error) == (digest, True, "")
    assert [one for one in commands if one.startswith("client-kill")] == ["client-kill 7 HALT"]


@contextmanager
def _management(path: Path, commands: list[str]) -> Iterator[None]:
    """OpenVPN's side of the socket, with a session of each of two people."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    open_ = {"7": f"{ALICE}_0123456789abcdef", "8": "corp:b-2_0123456789abcdef"}

    def serve() -> None:
        one, _ = listening.accept()
        with one, one.makefile("rw", newline="\n") as stream:
            stream.write(">INFO:OpenVPN Management Interface\r\n")
            stream.flush()
            for line in stream:
                commands.append(line.strip())
                if line.startswith("status"):
                    rows = [f"CLIENT_LIST\t{name}\t1.2.3.4:5\t{number}\r\n" for number, name in open_.items()]
                    head = "HEADER\tCLIENT_LIST\tCommon Name\tReal Address\tClient ID\r\n"
                    stream.write("".join((">NOTE\r\n", head, *rows, "END\r\n")))
                else:
                    open_.pop(line.split()[1])
                    stream.write("SUCCESS: client-kill command succeeded\r\n")
                stream.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield
    thread.join(timeout=10)
    listening.close()
