"""A real kube-apiserver takes new keys and authorities as rotations count on."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from components.model import plan
from lab import tools
from longhaul.rotate.authorities import RELOAD_SERVERS
from tests.images.kube_apiserver.test_encryption_keys import ENVIRONMENT
from tests.support.api_server import ApiServer, api_server, eventually

pytestmark = pytest.mark.engine

KUBELETS = "kubelets.crt"
"""File of the authority of kubelets' servers."""


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("replacing")
    (folder / "account.key").write_text(SigningKeys.alone(issuing.new_key()).file)
    binaries = tools.ensure(["etcd", "kube-apiserver", "kubectl"], log_dir=folder, progress=print)
    (folder / KUBELETS).write_text(authority().certificate)
    arguments = [f"--kubelet-certificate-authority={folder / KUBELETS}"]
    with api_server(folder, tools=binaries, services=plan(ENVIRONMENT).services, arguments=arguments) as server:
        for name in ("pod", "default"):
            server.kubectl("create", "serviceaccount", name)
        yield server


def authority() -> issuing.Pair:
    return issuing.new_authority(common_name="test", days=1, key=issuing.new_key())


class Kubelet(BaseHTTPRequestHandler):
    """Answers every question."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"said")

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@contextmanager
def kubelet(pem: Path) -> Iterator[int]:
    """Serve as a kubelet with this certificate, and give its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with ThreadingHTTPServer(("127.0.0.1", 0), Kubelet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def signer(token: str) -> str:
    """Return the name of the key that signed a token."""
    head = token.partition(".")[0]
    return str(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"])


def test_tokens_of_both_keys_are_believed_and_both_keys_published_while_the_key_is_replaced(server: ApiServer) -> None:
    """The first private key of the file signs, every public one is believed."""
    api = server.client(timeout_s=60)

    def is_believed(token: str) -> bool:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        found = api.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
        return bool(found.get("authenticated"))

    def published() -> list[str]:
        return [key["kid"] for key in json.loads(server.kubectl("get", "--raw", "/openid/v1/jwks"))["keys"]]

    def token() -> str:
        return server.kubectl("create", "token", "pod").strip()

    def restarted(keys: SigningKeys) -> str:
        server.accounts.write_text(keys.file)
        server.restart()
        return token()

    keys, successor = SigningKeys.parse(json.dumps({"file": server.accounts.read_text()})), issuing.new_key()
    (first,), former = published(), token()
    keys = keys.trusting(successor)
    server.accounts.write_text(keys.file)
    assert published() == [first], "the file is read at the start alone"
    trusting = restarted(keys)
    assert (len(published()), signer(trusting)) == (2, first)
    using = restarted(keys.using(successor))
    assert (set(published()), signer(using) != first) == ({first, signer(using)}, True)
    assert all(map(is_believed, (former, trusting, using)))
    alone = restarted(SigningKeys.alone(successor))
    assert published() == [signer(alone)] == [signer(using)]
    assert [is_believed(one) for one in (former, trusting, using, alone)] == [False, False, True, True]


@pytest.mark.drill
def test_a_second_authority_of_kubelets_is_believed_without_a_restart(server: ApiServer, tmp_path: Path) -> None:
    """It takes as long as the rotation of `nodes` waits, so it is a drill."""
    new, pem = authority(), tmp_path / "kubelet.pem"
    said = issuing.Subject(common_name="system:node:n", addresses=["127.0.0.1"], usages=["server"], days=1)
    pair = issuing.issue(said, authority=new)
    pem.write_text(pair.certificate + pair.key)
    with kubelet(pem) as port:
        addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
        status = {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
        spec = {"nodeName": "n", "automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        for one in (node, pod):
            server.kubectl("create", "-f", "-", stdin=json.dumps(one))
        assert "certificate" in server.kubectl("logs", "p", check=False)
        file = server.folder / KUBELETS
        file.write_text(file.read_text() + new.certificate)
        deadline = time.monotonic() + RELOAD_SERVERS.total_seconds()
        while (found := server.kubectl("logs", "p", check=False)) != "said":
            assert time.monotonic() < deadline, found
            time.sleep(1)


def test_a_second_authority_of_clients_is_believed_and_taken_away_without_a_restart(
    server: ApiServer, tmp_path: Path
) -> None:
    former = server.own_authority
    new = issuing.new_authority(common_name="test", days=1, key=issuing.new_key())
    file = server.folder / "ca.crt"

    def status(authority: issuing.Pair) -> int:
        said = issuing.Subject(common_name="ann", organizations=["system:masters"], usages=["client"], days=1)
        pair = issuing.issue(said, authority=authority)
        pem = tmp_path / "ann.pem"
        pem.write_text(pair.certificate + pair.key)
        context = ssl.create_default_context(cadata=former.certificate)
        context.load_cert_chain(pem)
        try:
            with urllib.request.urlopen(f"https://127.0.0.1:{server.port}/api", context=context, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert (status(former), status(new)) == (200, 401)
    file.write_text(former.certificate + new.certificate)
    eventually(lambda: status(new) == 200, what="the new authority is believed")
    assert status(former) == 200
    file.write_text(new.certificate)
    eventually(lambda: status(former) == 401, what="the former authority is not believed any more")
    assert status(new) == 200
    # The other tests are clients of the former one.
    file.write_text(former.certificate)
    eventually(lambda: status(former) == 200, what="the former authority is believed again")
