"""Access of a control plane's machine to AWS: the SDK itself takes the role, with the token in a file."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest
from botocore.credentials import create_credential_resolver
from botocore.session import Session

from clouds.aws.machine_access import keep, use, variables
from clouds.base.machine_access import OwnAccess, socket_token
from contract.documents.cloud_token import NoTokenError

ROLE = "arn:aws:iam::123456789012:role/prod-autoscaler"


def access(folder: Path, *, role: str = ROLE) -> OwnAccess:
    def token() -> tuple[str, float]:
        return "a-token", 2**40

    regions = ("us-west-2", "eu-west-1")
    return OwnAccess(
        machine="prod-api-0", role=role, regions=regions, folder=folder, token=token, stop=threading.Event()
    )


def test_the_sdk_takes_the_role_with_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in variables(access(tmp_path), tmp_path / "aws-token").items():
        monkeypatch.setenv(name, value)
    resolver = create_credential_resolver(Session())
    provider = resolver.get_provider("assume-role-with-web-identity")
    fetched = provider.load()
    assert fetched is not None
    assert fetched.method == "assume-role-with-web-identity"
    assert os.environ["AWS_REGION"] == "eu-west-1"


def test_the_token_is_in_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    keep(access(tmp_path).token, tmp_path / "aws-token", stop)
    assert (tmp_path / "aws-token").read_text() == "a-token"
    assert (tmp_path / "aws-token").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["aws-token"]


def test_a_token_is_asked_for_again_before_it_ends(tmp_path: Path) -> None:
    given = iter(["first", "second"])
    times = iter([0.0, 100.0, 900.0])
    looked = 0

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            nonlocal looked
            looked += 1
            return looked == 3

    keep(lambda: (next(given), 1_000.0), tmp_path / "aws-token", Stop(), wall=lambda: next(times))
    assert (tmp_path / "aws-token").read_text() == "second"


def test_no_token_is_said_once_and_no_file_is_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    def refused() -> tuple[str, float]:
        raise NoTokenError("the socket gives none")

    stop = threading.Event()
    stop.set()
    keep(refused, tmp_path / "aws-token", stop)
    assert [record.getMessage() for record in caplog.records] == ["no token for AWS: the socket gives none"]
    assert list(tmp_path.iterdir()) == []


def test_without_a_role_nothing_happens(tmp_path: Path) -> None:
    before = dict(os.environ)
    use(access(tmp_path, role=""))
    assert dict(os.environ) == before
    assert list(tmp_path.iterdir()) == []


def test_a_socket_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoTokenError, match=r"token\.sock"):
        socket_token(str(tmp_path / "token.sock"))
