"""A node waits until the API servers accept it, and no longer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node import join as node_join

from components.control_plane import issuing
from contract.documents.join_kubeconfig import JoinKubeconfig, of_text
from tests.images.node.test_place import worker
from tests.support.loopback import Answering, Asked

TOKEN = "abcdef.0123456789abcdef"


class FakeApi(Answering):
    """Answers access reviews with ``status`` and ``allowed``, one pair after the other, the last forever."""

    def __init__(self) -> None:
        super().__init__(self._review)
        self.answers: list[tuple[int, bool]] = []
        self.reviews: list[dict[str, Any]] = []

    def _review(self, asked: Asked) -> tuple[int, bytes]:
        spec = json.loads(asked.body)["spec"]
        self.reviews.append({"path": asked.path, "token": asked.headers["authorization"], **spec})
        status, allowed = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return status, json.dumps({"status": {"allowed": allowed}}).encode()


@pytest.fixture(name="console", autouse=True)
def _console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(node_join, "CONSOLE", tmp_path / "console")
    return tmp_path / "console"


@pytest.fixture(name="api")
def _api() -> Iterator[FakeApi]:
    with FakeApi() as api:
        yield api


@pytest.fixture(name="join")
def _join(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JoinKubeconfig:
    authority = tmp_path / "ca.crt"
    authority.write_text(issuing.new_authority(common_name="any", days=1, key=issuing.new_key()).certificate)
    monkeypatch.setattr(node_join, "CERTIFICATE", tmp_path / "certificate.pem")
    (tmp_path / "node.json").write_text(worker(kind="onprem").to_text())
    monkeypatch.setattr(node_join, "NODE", tmp_path / "node.json")
    join = JoinKubeconfig(server=api.url, authority=str(authority), token=TOKEN)
    (tmp_path / "join.kubeconfig").write_text(join.to_text("lab"))
    monkeypatch.setattr(node_join, "JOIN", tmp_path / "join.kubeconfig")
    return join


def test_the_question_is_whether_a_request_would_be_taken(api: FakeApi, join: JoinKubeconfig) -> None:
    api.answers = [(201, True)]
    assert node_join.refusal(join) == ""
    [review] = api.reviews
    assert review["token"] == f"Bearer {TOKEN}"
    assert review["path"] == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert review["resourceAttributes"]["resource"] == "certificatesigningrequests"


@pytest.mark.parametrize(
    ("answer", "says"),
    [((401, False), "401 (the token does not count"), ((503, False), "answers 503"), ((201, False), "may not make")],
)
def test_refusals_say_why(api: FakeApi, join: JoinKubeconfig, answer: tuple[int, bool], says: str) -> None:
    api.answers = [answer]
    assert says in node_join.refusal(join)


def test_nobody_there(join: JoinKubeconfig) -> None:
    away = JoinKubeconfig(server="http://127.0.0.1:1", authority=join.authority, token=TOKEN)
    assert "refused" in node_join.refusal(away)


def test_it_ends_when_the_token_counts(
    api: FakeApi,
    join: JoinKubeconfig,
    console: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    api.answers = [(401, False), (401, False), (201, False), (201, True)]
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    assert node_join.main() == 0
    assert len(pauses) == 3
    assert all(0 < pause <= 1.5 * node_join.LAST_RETRY_S for pause in pauses)
    said = capsys.readouterr().err
    assert said.count("not yet") == 2
    assert TOKEN not in said
    assert "has not joined yet: " in console.read_text()
    assert TOKEN not in console.read_text()


def test_a_node_with_a_certificate_asks_nobody(api: FakeApi, join: JoinKubeconfig) -> None:
    node_join.CERTIFICATE.touch()
    assert node_join.main() == 0
    assert api.reviews == []


def test_a_certificate_that_comes_meanwhile_ends_it(
    join: JoinKubeconfig, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.answers = [(401, False)]
    monkeypatch.setattr("time.sleep", lambda _: node_join.CERTIFICATE.touch())
    assert node_join.main() == 0


def test_it_reads_what_is_rendered(tmp_path: Path) -> None:
    from components.model import load, plan
    from components.render import join_kubeconfig

    environment = load(Path(__file__).parents[3] / "stacks" / "Pulumi.lab.yaml")
    path = tmp_path / "join.kubeconfig"
    path.write_text(join_kubeconfig(environment, plan(environment), token=TOKEN).content)
    found = of_text(path.read_text())
    assert (found.server, found.token) == ("https://10.64.3.5:6443", TOKEN)
    assert found.authority == "/etc/longhaul/pki/kubernetes-ca.crt"
    assert TOKEN not in repr(found)
