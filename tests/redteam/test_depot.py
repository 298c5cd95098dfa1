"""Whoever serves a depot, or stands on the way to one, against those who install from it: the operator's Ansible, apt
and nodes. Everything is served with checksums that fit; only the signatures do not."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from longhaul.artifacts.served_files import read
from longhaul.artifacts.serving import served
from longhaul.artifacts.signature import SignatureError, check
from longhaul.toolchain.spec import repository
from tests.support.ansible_cases import run_cases
from tests.support.depot_apt import Apt
from tests.support.gpg import end_agent, gpg, needs_gpg
from tests.support.modules import module_at
from tests.support.signed_depot import ATTACKS, BINARY, IMAGE, Key, attacks, make_depot, make_key, two_keys

pytestmark = [
    needs_gpg,
    pytest.mark.skipif(shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None, reason="needs apt"),
]

PLAYBOOKS = repository() / "playbooks"
# No bytecode beside the sources: the whole tree goes into the image.
sys.pycache_prefix = sys.pycache_prefix or str(repository() / ".lab" / "bytecode")
VERIFIER = module_at(repository() / "images/rootfs/usr/local/lib/longhaul/containerd/signed_depot.py")


@pytest.fixture(scope="module", name="keys")
def _keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Key, Key]]:
    """The builder's key, and an attacker's."""
    with two_keys(tmp_path_factory) as keys:
        yield keys


@pytest.fixture(scope="module", name="good")
def _good(tmp_path_factory: pytest.TempPathFactory, keys: tuple[Key, Key]) -> Path:
    return make_depot(tmp_path_factory.mktemp("good") / "depot", signer=keys[0])


@pytest.fixture(scope="module", name="evil")
def _evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_depot(tmp_path_factory.mktemp("evil") / "depot", content=b"evil", signer=None)


@pytest.fixture(scope="module", name="all_attacked")
def _all_attacked(
    tmp_path_factory: pytest.TempPathFactory, keys: tuple[Key, Key], good: Path, evil: Path
) -> dict[str, Path]:
    """Depots as the attacker serves them, by what he does."""
    folder = tmp_path_factory.mktemp("attacked")
    depots = {name: folder / f"depot-{number}" for number, name in enumerate(ATTACKS)}
    for name, depot in depots.items():
        attacks(good, evil, keys[1])[name](depot)
    return depots


@pytest.fixture(params=ATTACKS, name="attacked")
def _attacked(request: pytest.FixtureRequest, all_attacked: dict[str, Path]) -> Path:
    return all_attacked[request.param]


@pytest.fixture(scope="module", name="verdicts")
def _verdicts(
    tmp_path_factory: pytest.TempPathFactory, keys: tuple[Key, Key], good: Path, all_attacked: dict[str, Path]
) -> dict[Path, dict[str, Any]]:
    """The verdict of Ansible as the operator runs it, which reads a file of each served depot as the roles do."""
    depots = {str(depot): depot for depot in (good, *all_attacked.values())}
    with ExitStack() as serving:
        cases = {}
        for name, depot in depots.items():
            address = serving.enter_context(served(depot))
            lookup = f"lookup('longhaul_depot', 'binaries/SHA256SUMS', address={address!r}, key={keys[0].public!r})"
            cases[name] = [{"ansible.builtin.debug": {"msg": f"{{{{ {lookup} | b64encode }}}}"}}]
        verdicts = run_cases(tmp_path_factory.mktemp("ansible"), cases)
    return {depots[name]: verdict for name, verdict in verdicts.items()}


def test_the_operator_s_ansible_takes_what_is_signed(good: Path, verdicts: dict[Path, dict[str, Any]]) -> None:
    assert verdicts[good]["state"] == "ok", verdicts[good]


def test_and_no_sums_of_a_changed_binary(attacked: Path, verdicts: dict[Path, dict[str, Any]]) -> None:
    sums = (attacked / "binaries/SHA256SUMS").read_text()
    assert hashlib.sha256((attacked / BINARY).read_bytes()).hexdigest() in sums, "a sum alone would not tell"
    assert verdicts[attacked]["state"] == "failed"
    assert "longhaul_depot" in str(verdicts[attacked]["failed"]["messages"])


def test_apt_takes_what_is_signed(good: Path, keys: tuple[Key, Key], tmp_path: Path) -> None:
    with served(good) as address:
        assert Apt(tmp_path / "apt", address, keys[0].public).install() == "good"


def test_and_no_changed_package(attacked: Path, keys: tuple[Key, Key], tmp_path: Path) -> None:
    with served(attacked) as address:
        assert Apt(tmp_path / "apt", address, keys[0].public).install() == ""


def test_nothing_but_the_signature_would_have_told(evil: Path, keys: tuple[Key, Key], tmp_path: Path) -> None:
    with served(evil) as address:
        apt = Apt(tmp_path / "apt", address, keys[0].public)
        apt.trust()
        assert apt.install() == "evil"


def digest_in(depot: Path) -> str:
    digest: str = json.loads((depot / "images/index.json").read_text())["manifests"][0]["digest"]
    return digest


def verdict(depot: Path, key: str, name: str, digest: str, tmp_path: Path) -> int:
    """Ask the program that containerd asks."""
    with served(depot) as address:
        settings = tmp_path / "depot.json"
        settings.write_text(json.dumps({"url": address, "key": key}))
        argv = ["-name", name, "-digest", digest, "-stdin-media-type", "application/vnd.oci.descriptor.v1+json"]
        return int(VERIFIER.main(argv, settings))


def test_a_node_takes_an_image_that_is_signed_for(
    good: Path, keys: tuple[Key, Key], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verdict(good, keys[0].public, IMAGE, digest_in(good), tmp_path) == 0
    assert verdict(good, keys[0].public, "registry.example/other:v1", digest_in(good), tmp_path) == 1
    assert "has not signed for registry.example/other:v1" in capsys.readouterr().out


def test_and_none_with_another_digest(
    attacked: Path, good: Path, evil: Path, keys: tuple[Key, Key], tmp_path: Path
) -> None:
    assert digest_in(good) != digest_in(evil)
    assert verdict(attacked, keys[0].public, IMAGE, digest_in(evil), tmp_path) == 1


def test_a_digest_in_the_name_is_held_against_what_came(tmp_path: Path, keys: tuple[Key, Key], good: Path) -> None:
    asked, other = digest_in(good), f"sha256:{'0' * 64}"
    name = f"registry.example/thing@{asked}"
    assert verdict(good, keys[0].public, name, asked, tmp_path) == 0
    assert verdict(good, keys[0].public, name, other, tmp_path) == 1


def test_a_machine_without_a_signed_depot_asks_nobody(tmp_path: Path) -> None:
    assert VERIFIER.main(["-name", IMAGE, "-digest", "sha256:0"], tmp_path / "none.json") == 0


def test_a_depot_that_does_not_answer_ends_the_pull(tmp_path: Path, keys: tuple[Key, Key], good: Path) -> None:
    (tmp_path / "depot.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "key": keys[0].public}))
    assert VERIFIER.main(["-name", IMAGE, "-digest", digest_in(good)], tmp_path / "depot.json") == 1


def test_an_older_depot_is_believed_until_the_key_is_another(
    tmp_path: Path, keys: tuple[Key, Key], good: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing else tells an old list from a new one: a new key does, and the file has both while one takes over."""
    newer = make_key(tmp_path_factory.mktemp("newer") / "g")
    try:
        both = joined(keys[0], newer)
        depot = make_depot(tmp_path / "depot", content=b"new", signer=newer)
        files = {name: str(path) for name, path in (("old", good), ("new", depot))}
        believed = {name: believes(Path(path), both) for name, path in files.items()}
        assert believed == {"old": True, "new": True}
        assert {name: believes(Path(path), newer.public) for name, path in files.items()} == {"old": False, "new": True}
    finally:
        newer.end()


def joined(*keys: Key) -> str:
    return base64.b64encode(b"".join(base64.b64decode(key.public) for key in keys)).decode()


def believes(depot: Path, key: str) -> bool:
    def fetch(name: str) -> bytes:
        return (depot / name.removeprefix("depot/")).read_bytes()

    try:
        read("depot", "images/index.json", key=key, fetch=fetch)
    except SignatureError:
        return False
    return True


def test_a_key_that_has_ended_signs_for_nothing(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """gpgv exits with 0 for it, and says so in its status alone."""
    home, listed = tmp_path_factory.mktemp("ended") / "g", tmp_path / "SHA256SUMS"
    listed.write_text(f"{'0' * 64}  images/index.json\n")
    long_ago = ("--faked-system-time", "20240101T000000")
    try:
        gpg(home, *long_ago, "--passphrase", "", "--quick-generate-key", "somebody", "ed25519", "sign", "1d")
        gpg(home, *long_ago, "--output", str(tmp_path / "signature"), "--detach-sign", str(listed))
        gpg(home, "--output", str(tmp_path / "key"), "--export")
    finally:
        end_agent(home)
    key = base64.b64encode((tmp_path / "key").read_bytes()).decode()
    signed = listed.read_bytes(), (tmp_path / "signature").read_bytes(), key
    with pytest.raises(SignatureError, match="expired"):
        check(*signed)
    assert not VERIFIER.signed(*signed)


@pytest.mark.parametrize("spoilt", [b"", b"-----BEGIN PGP SIGNATURE-----", bytes(range(256))])
def test_what_is_no_signature_is_none(spoilt: bytes, keys: tuple[Key, Key]) -> None:
    with pytest.raises(SignatureError):
        check(b"content", spoilt, keys[0].public)
    assert not VERIFIER.signed(b"content", spoilt, keys[0].public)
