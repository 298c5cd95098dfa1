"""Images are found by containerd's requests, and their content matches their digests."""

from __future__ import annotations

import hashlib
import json
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longhaul.artifacts.oci import MANIFEST, Image, write_layout
from longhaul.artifacts.serving import served

BINARY = b"\x7fELF of no program"
NAME = "registry.example/some/thing:v1"


def write(into: Path, tmp_path: Path) -> None:
    binary = tmp_path / "thing"
    binary.write_bytes(BINARY)
    other = tmp_path / "other"
    other.write_bytes(b"other")
    images = [
        Image(name=NAME, binary=binary, entrypoint=("/thing",), user="9:9", capabilities=("cap_net_bind_service",)),
        Image(name="registry.example/some/thing:v2", binary=other, entrypoint=("/other",), command=("wait",)),
        Image(name="elsewhere.example/some/thing:v1", binary=other, entrypoint=("/other",)),
    ]
    write_layout(into, images, arch="amd64")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    write(tmp_path / "depot" / "images", tmp_path)
    (tmp_path / "depot" / "binaries").mkdir()
    (tmp_path / "depot" / "debian").mkdir()
    with served(tmp_path / "depot") as address:
        yield address


def ask(url: str, *, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[bytes, dict[str, str]]:
    with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers or {}), timeout=5) as answer:
        return answer.read(), {key.lower(): value for key, value in answer.headers.items()}


def status(url: str) -> int:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(url)
    answer = json.loads(caught.value.read())
    assert answer["errors"][0]["code"] in ("NAME_UNKNOWN", "MANIFEST_UNKNOWN", "BLOB_UNKNOWN")
    return caught.value.code


def pulled(address: str, repository: str, reference: str, *, ns: str) -> tuple[dict[str, Any], Path | bytes]:
    """Pull an image as containerd does: the tag's digest by HEAD, then everything by digest, each compared with it."""
    _, head = ask(f"{address}/v2/{repository}/manifests/{reference}?ns={ns}", method="HEAD")
    assert head["content-type"] == MANIFEST
    digest = head["docker-content-digest"]
    body, answer = ask(f"{address}/v2/{repository}/manifests/{digest}?ns={ns}")
    assert (len(body), answer["docker-content-digest"]) == (int(head["content-length"]), digest)
    assert f"sha256:{hashlib.sha256(body).hexdigest()}" == digest
    manifest = json.loads(body)
    blobs = []
    for blob in (manifest["config"], *manifest["layers"]):
        content, _ = ask(f"{address}/v2/{repository}/blobs/{blob['digest']}?ns={ns}")
        assert (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)) == (blob["digest"], blob["size"])
        blobs.append(content)
    config, layer = blobs
    return json.loads(config), layer


def test_an_image_is_pulled_by_its_tag(address: str, tmp_path: Path) -> None:
    config, layer = pulled(address, "some/thing", "v1", ns="registry.example")
    assert config["config"]["Entrypoint"] == ["/thing"]
    assert (config["config"]["User"], config["architecture"], config["os"]) == ("9:9", "amd64", "linux")
    assert isinstance(layer, bytes)
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    (tmp_path / "layer").write_bytes(layer)
    with tarfile.open(tmp_path / "layer") as tar:
        program = tar.extractfile("thing")
        assert program is not None
        assert program.read() == BINARY
        assert tar.getmember("thing").mode == 0o755
        # As `setcap cap_net_bind_service=ep` writes it; getfattr shows it as 0x0100000200040000….
        attribute = tar.getmember("thing").pax_headers["SCHILY.xattr.security.capability"]
        assert attribute.encode() == bytes.fromhex("0100000200040000000000000000000000000000")


def test_tags_and_registries_are_told_apart(address: str) -> None:
    tag, _ = pulled(address, "some/thing", "v2", ns="registry.example")
    other, _ = pulled(address, "some/thing", "v1", ns="elsewhere.example")
    assert tag["config"]["Cmd"] == ["wait"]
    assert other["config"]["Entrypoint"] == ["/other"]


def test_what_is_not_there_is_not_found(address: str) -> None:
    absent = f"sha256:{'0' * 64}"
    for path in (
        "some/thing/manifests/v3?ns=registry.example",
        f"some/thing/manifests/{absent}?ns=registry.example",
        "some/thing/manifests/v1?ns=third.example",
        "thing/manifests/v1",
        f"some/thing/blobs/{absent}",
        "some/thing/blobs/sha256:..%2f..%2findex.json",
    ):
        assert status(f"{address}/v2/{path}") == 404


def test_a_blob_that_broke_off_can_be_continued(address: str) -> None:
    body, _ = ask(f"{address}/v2/some/thing/manifests/v1")
    digest = json.loads(body)["layers"][0]["digest"]
    whole, _ = ask(f"{address}/v2/some/thing/blobs/{digest}")
    rest, answer = ask(f"{address}/v2/some/thing/blobs/{digest}", headers={"Range": "bytes=100-"})
    assert rest == whole[100:]
    assert answer["content-range"].startswith("bytes 100-")


def test_a_client_that_names_no_registry_is_served(address: str) -> None:
    assert ask(f"{address}/v2/")[1]["docker-distribution-api-version"] == "registry/2.0"
    assert json.loads(ask(f"{address}/v2/some/thing/manifests/v2")[0])["mediaType"] == MANIFEST


def test_the_same_binaries_make_the_same_images(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write(tmp_path / name, tmp_path)
    files = {path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*") if path.is_file()}
    assert files == {
        path.relative_to(tmp_path / "second") for path in (tmp_path / "second").rglob("*") if path.is_file()
    }
    assert (tmp_path / "first/index.json").read_bytes() == (tmp_path / "second/index.json").read_bytes()


def test_an_image_of_dockers_own_format_is_served_as_what_it_is(tmp_path: Path) -> None:
    """A pulled image may be one; a client relies on the type in the answer."""
    write(tmp_path / "depot" / "images", tmp_path)
    for name in ("binaries", "debian"):
        (tmp_path / "depot" / name).mkdir()
    index = tmp_path / "depot/images/index.json"
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    index.write_text(index.read_text().replace(MANIFEST, kind))
    with served(tmp_path / "depot") as address:
        _, head = ask(f"{address}/v2/some/thing/manifests/v1?ns=registry.example", method="HEAD")
    assert head["content-type"] == kind
