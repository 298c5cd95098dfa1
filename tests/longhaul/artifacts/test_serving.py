"""`longhaul depot serve`: it serves a depot until it is told to stop, even when the depot is made anew meanwhile."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.cloud.pki import ensure_pki
from longhaul.artifacts.layout import DepotParts, fill
from longhaul.artifacts.manifest import MANIFEST, SUMS, seal
from longhaul.artifacts.oci import Image, copy_of
from longhaul.artifacts.serving import served
from longhaul.depot.publish import publish
from longhaul.terminal.exits import Exit

LIMIT_S = 60.0


def made(root: Path, tmp_path: Path, *, tag: str = "v1", content: bytes = b"binary") -> None:
    """Make a depot with one image."""
    binary = tmp_path / f"binary-{tag}"
    binary.write_bytes(content)

    def make(into: Path) -> None:
        image = Image(name=f"registry.example/thing:{tag}", binary=binary, entrypoint=("/thing",))
        fill(into, DepotParts(binaries={}, archives={}, images=[image]), place=lambda one, two: copy_of(one, into=two))
        seal(into, {})

    publish(root, make, progress=print)


@pytest.fixture
def depot(tmp_path: Path) -> Path:
    made(tmp_path / "depot", tmp_path)
    return tmp_path / "depot"


@contextmanager
def serving(depot: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; the block gets it and the address that it prints."""
    argv = [sys.executable, "-m", "longhaul", "depot", "serve", str(depot), "--listen", "127.0.0.1:0", *words]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert " at http" in line, line + process.stderr.read()
            yield process, line.strip().rpartition(" at ")[2]
        finally:
            process.kill()


def ask(url: str, *, method: str = "GET", context: ssl.SSLContext | None = None) -> bytes:
    request = urllib.request.Request(url, method=method)
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        body: bytes = answer.read()
        return body


def status(url: str, *, method: str = "GET") -> int:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(url, method=method)
    return caught.value.code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop_and_notes_each_request(depot: Path, number: signal.Signals) -> None:
    with serving(depot) as (process, address):
        for name in (MANIFEST, SUMS, "binaries/SHA256SUMS"):
            assert ask(f"{address}/{name}") == (depot / name).read_bytes()
        assert json.loads(ask(f"{address}/v2/thing/manifests/v1?ns=registry.example"))["schemaVersion"] == 2
        process.send_signal(number)
        assert process.wait(LIMIT_S) == Exit.OK
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    size = (depot / MANIFEST).stat().st_size
    assert f"127.0.0.1 GET /{MANIFEST}: 200 {size} bytes" in lines[0]
    assert "/v2/thing/manifests/v1?ns=registry.example: 200" in lines[3]
    assert "stopping" in lines[-1]


def test_nothing_can_be_written_and_nothing_outside_be_read(depot: Path) -> None:
    (depot.parent / "secret").write_text("s")
    (depot / "binaries" / "link").symlink_to(depot.parent / "secret")
    with served(depot) as address:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert status(f"{address}/{MANIFEST}", method=method) == 405
        for path in ("binaries/link", "binaries/..%2f..%2fsecret", "..%2fsecret", "images/oci-layout", "", "binaries/"):
            assert status(f"{address}/{path}") in (403, 404)


def test_a_depot_made_anew_is_served_anew(depot: Path, tmp_path: Path) -> None:
    with served(depot) as address:
        assert status(f"{address}/v2/thing/manifests/v2") == 404
        made(depot, tmp_path, tag="v2", content=b"other")
        assert ask(f"{address}/v2/thing/manifests/v2")
        assert status(f"{address}/v2/thing/manifests/v1") == 404
        assert ask(f"{address}/{SUMS}") == (depot / SUMS).read_bytes()


def test_it_serves_over_https_to_who_trusts_it(depot: Path, tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path / "pki", ("127.0.0.1",))
    trusting = ssl.create_default_context(cafile=str(pki.ca_certificate))
    files = ("--certificate", str(pki.server_certificate), "--key", str(pki.server_key))
    with serving(depot, *files) as (_, address):
        assert address.startswith("https://127.0.0.1:")
        assert ask(f"{address}/{SUMS}", context=trusting)
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(f"{address}/{SUMS}")


def seen(address: str) -> bytes:
    """Return the certificate that the server shows now."""
    where = urllib.parse.urlsplit(address)
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((str(where.hostname), int(where.port or 0))))


def test_a_renewed_certificate_is_shown_without_a_restart(depot: Path, tmp_path: Path) -> None:
    former, renewed = (ensure_pki(tmp_path / name, ("127.0.0.1",)) for name in ("former", "renewed"))
    shown = {pki: ssl.PEM_cert_to_DER_cert(pki.server_certificate.read_text()) for pki in (former, renewed)}
    files = ("--certificate", str(former.server_certificate), "--key", str(former.server_key))
    with serving(depot, *files) as (process, address):
        assert seen(address) == shown[former]
        renewed.server_certificate.replace(former.server_certificate)
        assert seen(address) == shown[former], "its key is not there yet"
        renewed.server_key.replace(former.server_key)
        assert seen(address) == shown[renewed]
        former.server_key.unlink()
        assert seen(address) == shown[renewed]
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stderr.read()
    assert "KEY_VALUES_MISMATCH: keeping the previous certificate" in said
    assert "was read again" in said
    assert "No such file or directory: keeping" in said


def run(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "longhaul", "depot", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_a_port_that_is_taken_is_said(depot: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        done = run("serve", str(depot), "--listen", where)
    assert (done.returncode, done.stdout) == (Exit.FAILED, "")
    assert f"cannot listen at {where}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--listen", "8080"), "write ADDRESS:PORT"),
        (("--listen", "127.0.0.1:70000"), "write ADDRESS:PORT"),
        (("--key", "/dev/null"), "--certificate and --key go together"),
        (("--certificate", "/dev/null", "--key", "/dev/null"), "cannot be used"),
        (("--certificate", "/nowhere", "--key", "/nowhere"), "No such file"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_served(depot: Path, words: tuple[str, ...], says: str) -> None:
    done = run("serve", str(depot), *words)
    assert done.returncode == Exit.USAGE
    assert says in done.stderr


def test_who_serves_in_the_clear_to_others_is_warned(depot: Path) -> None:
    argv = [sys.executable, "-m", "longhaul", "depot", "serve", str(depot), "--listen", "127.0.0.2:0"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stderr is not None
        warning = process.stderr.readline()
        process.kill()
    assert "everyone between here and the machines sees what they install, and can withhold it" in warning


def test_another_folder_is_not_served(tmp_path: Path) -> None:
    done = run("serve", str(tmp_path))
    assert done.returncode == Exit.USAGE
    assert "is not a depot: `longhaul depot build --to" in done.stderr
