"""Rotation of the encryption key in the shared lab, under readers and writers that never stop."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.lab.test_control_plane import ETCD, ETCDCTL
from tests.support.project import Project
from tests.support.shared_lab import SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ROTATE = ("rotate", "secrets-encryption", "--json")


@pytest.fixture(name="project", scope="module")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def stored_with(project: Project, name: str) -> str:
    """Return the name of the key that encrypts a Secret in etcd."""
    stored = project.on(ETCD, f"{ETCDCTL} get --print-value-only /registry/secrets/default/{name} | head -c 64").stdout
    return stored.partition("k8s:enc:secretbox:v1:")[2].partition(":")[0]


@contextmanager
def secrets_in_use(project: Project) -> Iterator[list[str]]:
    """Write and read Secrets during the block; yield the list of what failed."""
    over, failed = threading.Event(), list[str]()

    def work() -> None:
        number = 0
        while not over.is_set():
            number += 1
            name = f"rotating-{number % 5}"
            word = f"--from-literal=word=w{number}"
            project.kubectl("delete", "secret", name, "--ignore-not-found", check=False)
            made = project.kubectl("create", "secret", "generic", name, word, check=False)
            read = project.kubectl("get", "secrets", "--all-namespaces", "--output=name", check=False)
            failed.extend(done.stderr for done in (made, read) if done.returncode != 0)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield failed
    finally:
        over.set()
        worker.join()


def test_the_key_is_replaced_and_no_request_fails(project: Project) -> None:
    project.kubectl("create", "secret", "generic", "before", "--from-literal=word=quicksilver")
    former = stored_with(project, "before")
    with secrets_in_use(project) as failed:
        told = json.loads(project.longhaul(*ROTATE).stdout)
    assert failed == []
    (now,) = told["keys"]
    assert (told["phase"], former in told["retired"]) == ("steady", True)
    assert stored_with(project, "before") == now != former
    found = json.loads(project.on(ETCD, "longhaul-node encryption").stdout)
    assert set(found["objects"]) == {now}
    assert json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"] == []


def test_a_readmitted_key_is_told_by_status_kept_by_up_and_retired_again(project: Project) -> None:
    first = json.loads(project.longhaul(*ROTATE).stdout)
    project.longhaul(*ROTATE, "--readmit", first["retired"][-1])
    (half,) = json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"]
    assert (half["phase"], half["keys"]) == ("use", [*first["keys"], first["retired"][-1]])
    project.longhaul("up", "--yes", "--only", "infrastructure")
    assert json.loads(project.longhaul("status", "--json", check=False).stdout)["rotations"] == [half]
    last = json.loads(project.longhaul(*ROTATE).stdout)
    assert last["keys"] == first["keys"]
