"""The administrator's kubeconfig."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
from pathlib import Path

import pytest

from clouds.azure import control
from clouds.azure.session import AzureError
from components.model.vault import vault_url
from longhaul import cluster
from longhaul.cluster import fetch_identity, kubeconfig
from longhaul.context import Context, state_folder, write_private
from longhaul.exits import CommandError, Exit
from longhaul.project import Project
from tests.longhaul.conftest import Checkout
from tests.model import make

ENVIRONMENT = make.environment().model_copy(update={"name": "dev"})
IDENTITY = {"certificate": "CERT", "key": "KEY", "issuer": "CA"}


def vault(value: str | AzureError | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        def __init__(self, url: str) -> None:
            assert url == vault_url(ENVIRONMENT)

        def get(self, name: str) -> str | None:
            assert name == "operator-admin"
            if isinstance(value, AzureError):
                raise value
            return value

    monkeypatch.setattr(control, "Vault", Fake)


def test_it_embeds_everything_and_is_named_by_the_environment() -> None:
    config = kubeconfig(name="dev", server="https://api:6443", server_name=None, identity=IDENTITY)
    assert config["current-context"] == "dev"
    assert config["contexts"] == [{"name": "dev", "context": {"cluster": "dev", "user": "dev-admin"}}]
    (cluster,) = config["clusters"]
    assert cluster["cluster"]["server"] == "https://api:6443"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"CA"
    assert "tls-server-name" not in cluster["cluster"]
    (user,) = config["users"]
    assert base64.b64decode(user["user"]["client-certificate-data"]) == b"CERT"
    assert base64.b64decode(user["user"]["client-key-data"]) == b"KEY"


def test_through_the_labs_port_the_certificate_is_checked_for_its_own_name() -> None:
    config = kubeconfig(name="lab", server="https://127.0.0.1:1", server_name="api.lab.internal", identity=IDENTITY)
    assert config["clusters"][0]["cluster"]["tls-server-name"] == "api.lab.internal"


def test_only_its_owner_reads_it_even_where_a_looser_file_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_the_identity_is_what_the_vault_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    vault(json.dumps({**IDENTITY, "more": 1}), monkeypatch)
    assert fetch_identity(ENVIRONMENT) == IDENTITY


@pytest.mark.parametrize(
    ("value", "code", "told"),
    [
        (None, Exit.FAILED, "longhaul up --env dev"),
        ("{", Exit.FAILED, "not what"),
        ('{"certificate": "secret-value"}', Exit.FAILED, "not what"),
        (AzureError("Forbidden", status=403), Exit.FAILED, "Forbidden"),
        (AzureError("does not answer"), Exit.UNREACHABLE, "does not answer"),
    ],
)
def test_what_can_be_wrong_with_the_vault(
    monkeypatch: pytest.MonkeyPatch, value: str | AzureError | None, code: Exit, told: str
) -> None:
    vault(value, monkeypatch)
    with pytest.raises(CommandError) as refused:
        fetch_identity(ENVIRONMENT)
    assert refused.value.code is code
    assert told in str(refused.value)
    assert "secret-value" not in str(refused.value)


def test_a_kubeconfig_for_other_programs_is_gone_afterwards_and_so_is_a_killed_ones(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder = checkout.home / ".local/state/longhaul"
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    environ = {"HOME": str(checkout.home)}
    left = state_folder(where, environ) / f"dev.{ended.pid}.kubeconfig"
    left.parent.mkdir(parents=True)
    left.touch()
    monkeypatch.setattr(cluster, "fetch_identity", lambda _environment: IDENTITY)
    with cluster.kubeconfig_file(where, where.project.load("dev"), environ) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text())["clusters"][0]["cluster"]["server"] == "https://10.64.3.5:6443"
        assert list(left.parent.iterdir()) == [path]
    assert [found for found in folder.rglob("*") if found.is_file()] == []
