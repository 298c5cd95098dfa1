"""A real kube-apiserver takes new keys and authorities as rotations count on."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from components.model import plan
from lab import tools
from tests.images.test_encryption_keys import ENVIRONMENT
from tests.support.api_server import ApiServer, api_server, eventually

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp("replacing")
    (folder / "account.key").write_text(SigningKeys.alone(issuing.new_key()).file)
    binaries = tools.ensure(["etcd", "kube-apiserver", "kubectl"], log_dir=folder, progress=print)
    with api_server(folder, tools=binaries, services=plan(ENVIRONMENT).services) as server:
        server.kubectl("create", "serviceaccount", "pod")
        yield server


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
