"""Encryption keys as the machine's own program tells them, and Kubernetes' own handling of them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kube_apiserver import encryption_keys

from components.control_plane.issuing import new_encryption_key
from components.model import Role, control_machines, load, plan
from components.model.secrets.encryption_keys import EncryptionKeys
from components.model.secrets.vault import KEYS_IN_USE
from components.render import api_server_machine as rendered
from lab import tools
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS

ENVIRONMENT = load(STACKS / "Pulumi.lab.yaml")


def configuration(keys: EncryptionKeys) -> str:
    machine = next(one for one in control_machines(ENVIRONMENT, plan(ENVIRONMENT)) if one.role is Role.API)
    (file,) = [one for one in rendered.secret_files(ENVIRONMENT, machine) if one.path.endswith(encryption_keys.FILE)]
    return file.content.replace(f"${{{KEYS_IN_USE}}}", keys.text())


class FakeEtcdctl:
    """Answers in pages, as etcdctl does."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self._objects = objects

    def run(self, _endpoint: str, verb: str, begin: str, end: str, limit: str) -> Any:
        assert verb == "get"
        found = [name for name in sorted(self._objects) if begin <= name < end]
        page = found[: int(limit.removeprefix("--limit="))]
        encoded = [
            {"key": base64.b64encode(name.encode()), "value": base64.b64encode(self._objects[name])} for name in page
        ]
        return {"kvs": encoded, "more": len(found) > len(page)}


def test_stored_objects_are_counted_by_key_and_no_other_object_is() -> None:
    count = 2 * encryption_keys.PAGE + 1
    objects = {f"/registry/secrets/default/s{number}": b"k8s:enc:secretbox:v1:key2:x" for number in range(count)}
    objects["/registry/secrets/default/s1-more"] = b"k8s:enc:secretbox:v1:key1:x"
    objects["/registry/secrets/other/plain"] = b"k8s\0plain"
    objects["/registry/secretsother/a"] = b"k8s:enc:secretbox:v1:key1:x"
    etcdctl: Any = FakeEtcdctl(objects)
    assert encryption_keys.count_objects("", etcdctl).objects == {"key1": 1, "key2": count, "": 1}


def test_a_server_without_keys_or_silent_is_told(tmp_path: Path) -> None:
    node: Any = SimpleNamespace(port=1)
    found = encryption_keys.server_keys(node, pki=tmp_path)
    assert (found.keys, found.loaded) == ((), False)
    assert encryption_keys.FILE in found.error
    (tmp_path / encryption_keys.FILE).write_text(configuration(EncryptionKeys.first("one").trusting("two")))
    found = encryption_keys.await_held(node, pki=tmp_path, wanted=("key1", "key2"), wait_s=0)
    assert (found.keys, found.loaded, bool(found.error)) == (("key1", "key2"), False, True)


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("encrypting")
    (folder / encryption_keys.FILE).write_text(configuration(EncryptionKeys.first(new_encryption_key())))
    binaries = tools.ensure(["etcd", "kube-apiserver", "kubectl"], log_dir=folder, progress=print)
    arguments = [
        f"--encryption-provider-config={folder / encryption_keys.FILE}",
        "--encryption-provider-config-automatic-reload=true",
    ]
    with api_server(folder, tools=binaries, services=plan(ENVIRONMENT).services, arguments=arguments) as server:
        yield server


@pytest.mark.engine
def test_a_running_server_takes_new_keys_and_rewrites_what_did_not_change(server: ApiServer) -> None:
    """A rotation counts on this of Kubernetes: the file is loaded without a restart, its hash is told, and a change of
    nothing is written with the new key."""
    server.kubectl("create", "secret", "generic", "kept", "--from-literal=word=quicksilver")
    pki = server.folder
    (pki / "kubernetes-ca.crt").write_text((pki / "ca.crt").read_text())
    (pki / "kubelet-client.pem").write_text(server.pem("asks").read_text())
    server.kubectl("create", "clusterrolebinding", "asks", "--clusterrole=system:monitoring", "--user=asks")
    node: Any = SimpleNamespace(port=server.port)
    file = pki / encryption_keys.FILE
    first = encryption_keys.server_keys(node, pki=pki)
    assert (first.keys, first.loaded) == (("key1",), True)

    api, path = server.client(timeout_s=60), "/api/v1/namespaces/default/secrets/kept"
    before = api.get(path)["metadata"]["resourceVersion"]
    assert api.patch(path, {})["metadata"]["resourceVersion"] == before, "nothing to rewrite"
    keys = EncryptionKeys.parse(file.read_text().partition("keys: ")[2]).trusting(new_encryption_key()).using()
    file.write_text(configuration(keys))
    taken = encryption_keys.await_held(node, pki=pki, wanted=keys.names, wait_s=150)
    assert (taken.keys, taken.loaded) == (("key2", "key1"), True)
    assert api.patch(path, {})["metadata"]["resourceVersion"] != before
    file.write_text(configuration(EncryptionKeys(keys=keys.keys[:1])))
    assert encryption_keys.await_held(node, pki=pki, wanted=("key2",), wait_s=150).loaded
    eventually(lambda: "data" in api.get(path), what="the Secret is read without the former key")
