"""The way to the API before the objects, and the advice where there is none."""

from __future__ import annotations

import argparse
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from components.control_plane import issuing
from longhaul.cluster.api_access import GIVEN, kubeconfig
from longhaul.project.checkout import Project
from longhaul.project.context import Context
from longhaul.terminal.exits import CommandError, Exit
from longhaul.up import api_route as reach
from longhaul.up.api_route import require_api
from longhaul.up.phases import Phase, UpJob, run_phase
from tests.longhaul.conftest import Checkout
from tests.model import make
from tests.support.ports import free_ports

ENVIRONMENT = make.environment(vpn={"machine_type": "Standard_D2s_v5"})
ADVICE = f"run `longhaul vpn --env {ENVIRONMENT.name}` in another terminal"
AUTHORITY = issuing.new_authority(common_name="kubernetes", days=1, key=issuing.new_key())


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "WAIT_S", 0.0)
    monkeypatch.setattr(reach, "PERSON_S", 0.0)


def written(folder: Path, port: int) -> Path:
    """Write a kubeconfig of an API at this port."""
    own = issuing.issue(issuing.Subject(common_name="anna", usages=["client"], days=1), authority=AUTHORITY)
    identity = {"certificate": own.certificate, "key": own.key, "issuer": AUTHORITY.certificate}
    path = folder / "kubeconfig"
    path.write_text(
        json.dumps(kubeconfig(name="dev", server=f"https://127.0.0.1:{port}", server_name=None, identity=identity))
    )
    return path


@contextmanager
def answering(folder: Path, status: int, authority: issuing.Pair = AUTHORITY) -> Iterator[int]:
    """Serve an API that answers with a status, during the block; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            return

    subject = issuing.Subject(common_name="api", addresses=["127.0.0.1"], usages=["server"], days=1)
    pair = issuing.issue(subject, authority=authority)
    pem = folder / "server.pem"
    pem.write_text(pair.certificate + pair.key)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(pem)
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = trust.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [200, 403, 503])
def test_any_answer_shows_the_way(tmp_path: Path, status: int) -> None:
    with answering(tmp_path, status) as port:
        require_api(ENVIRONMENT, written(tmp_path, port), say=print)


def test_without_an_answer_the_vpn_is_named(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with pytest.raises(CommandError, match=ADVICE) as silent:
        require_api(ENVIRONMENT, written(tmp_path, port), say=print)
    assert silent.value.code is Exit.UNREACHABLE


def test_whoever_else_has_the_address_is_not_the_api(tmp_path: Path) -> None:
    other = issuing.new_authority(common_name="kubernetes", days=1, key=issuing.new_key())
    with answering(tmp_path, 200, other) as port, pytest.raises(CommandError, match=ADVICE):
        require_api(ENVIRONMENT, written(tmp_path, port), say=print)


def test_it_is_tried_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "WAIT_S", 600.0)
    (port,) = free_ports(1)
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        monkeypatch.setattr("contract.kubernetes.api.Api.get", lambda *_: {})

    monkeypatch.setattr(reach.time, "sleep", rest)
    require_api(ENVIRONMENT, written(tmp_path, port), say=print)
    assert rests == [reach.PAUSE_S]


def test_who_has_still_to_connect_is_told_so_once_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reach, "PERSON_S", 600.0)
    (port,) = free_ports(1)
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 3:
            monkeypatch.setattr("contract.kubernetes.api.Api.get", lambda *_: {})

    monkeypatch.setattr(reach.time, "sleep", rest)
    require_api(ENVIRONMENT, written(tmp_path, port), say=print)
    assert len(rests) == 3
    assert capsys.readouterr().out.count(ADVICE) == 1


def test_without_a_vpn_nothing_is_asked(tmp_path: Path) -> None:
    require_api(make.environment(), tmp_path / "none", say=print)


def test_the_objects_do_not_begin_before(
    checkout: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.write({**checkout.environment(), "vpn": {"machine_type": "Standard_D2s_v5"}})
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    (port,) = free_ports(1)
    options = argparse.Namespace(yes=True, json=False, no_refresh=False, max_removed=None)
    job = UpJob(
        where=where,
        environment=where.project.load("dev"),
        environ={"HOME": str(checkout.home), GIVEN: str(written(tmp_path, port))},
        options=options,
        rest=(),
        log=None,
        began=0.0,
    )
    assert run_phase(job, Phase.OBJECTS).code is Exit.UNREACHABLE
    assert "run `longhaul vpn --env dev` in another terminal" in capsys.readouterr().err
