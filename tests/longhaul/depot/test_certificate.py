"""The authority and the certificate of a depot's server as docs/depot.md makes them: what takes them, and for which
names."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from components.model.secrets.authority_pem import authority_fault
from longhaul.artifacts.manifest import SUMS
from longhaul.artifacts.serving import served
from longhaul.toolchain.spec import repository
from tests.support.depot_apt import Apt
from tests.support.gpg import needs_gpg
from tests.support.signed_depot import make_depot, two_keys

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")

ALLOWED = "permitted;DNS:depot.example.internal,permitted;IP:10.0.0.5/255.255.255.255"
NAMES = "DNS:depot.example.internal,IP:10.0.0.5"
LOOPBACK = "DNS:localhost,IP:127.0.0.1"


def make(folder: Path, *, allowed: str, names: str) -> Path:
    """Run the commands of the page with other names, and return the authority's certificate."""
    page = (repository() / "docs/depot.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- openssl -->\n```sh\n(.*?)```", page, re.DOTALL)
    assert found
    script = found[1]
    for old, new in ((f"critical,{ALLOWED}", f"critical,{allowed}"), (f"= {NAMES}", f"= {names}")):
        assert old in script
        script = script.replace(old, new)
    # What openssl would ask a person for.
    script = script.replace("-keyout authority.key", "-keyout authority.key -passout pass:x")
    script = script.replace("-CAkey authority.key", "-CAkey authority.key -passin pass:x")
    subprocess.run(["sh", "-eu"], input=script, text=True, cwd=folder, check=True, capture_output=True)
    return folder / "authority.pem"


def server_context(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "depot.pem", folder / "depot.key")
    return context


def ask(address: str, authority: Path) -> bytes:
    context = ssl.create_default_context(cafile=str(authority))
    # As Python does by itself from 3.13 on.
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with urllib.request.urlopen(f"{address}/{SUMS}", timeout=10, context=context) as answer:
        content: bytes = answer.read()
        return content


@needs_gpg
def test_what_the_page_makes_is_taken(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    allowed = "permitted;DNS:localhost,permitted;IP:127.0.0.1/255.255.255.255"
    authority = make(tmp_path, allowed=allowed, names=LOOPBACK)
    assert authority_fault(authority.read_text()) == ""
    assert (tmp_path / "authority.key").stat().st_mode & 0o077 == 0
    with two_keys(tmp_path_factory) as keys:
        depot = make_depot(tmp_path / "depot", signer=keys[0])
        with served(depot, tls=server_context(tmp_path)) as address:
            for url in (address, address.replace("127.0.0.1", "localhost")):
                assert ask(url, authority) == (depot / SUMS).read_bytes()
            apt = Apt(tmp_path / "apt", address, keys[0].public, authority=authority.read_text())
            assert apt.install() == "good"


def test_the_authority_is_for_its_names_alone(tmp_path: Path) -> None:
    authority = make(tmp_path, allowed=ALLOWED, names=LOOPBACK)
    with (
        served(make_depot(tmp_path / "depot", signer=None), tls=server_context(tmp_path)) as address,
        pytest.raises(urllib.error.URLError, match="permitted subtree violation"),
    ):
        ask(address, authority)
