"""The role that preloads container images: from a real depot and from a stand-in registry, and nothing unchecked."""

from __future__ import annotations

import hashlib
import json
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError

from longhaul.artifacts import image_contents
from longhaul.artifacts.oci import Image, write_layout
from longhaul.artifacts.serving import served
from longhaul.image.sources import omitted_images
from longhaul.toolchain.spec import load, machine_arch, repository
from tests.support.loopback import Answering, Asked
from tests.support.modules import module_at

PLAYBOOKS = repository() / "playbooks"
NAME = "registry.example/tools/thing:1.0"


PULL = module_at(PLAYBOOKS / "roles/preloaded_images/files/pull_images.py")
FILTER = module_at(PLAYBOOKS / "filter_plugins/images.py")
PINS = module_at(PLAYBOOKS / "filter_plugins/pins.py")


def sha(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Registry(Answering):
    """One image for two architectures, served by a registry on loopback."""

    def __init__(self) -> None:
        super().__init__(self._file)
        self.closed = False
        """True when it requires a sign-in."""
        self.files: dict[str, bytes] = {}
        self.config, self.layer = b'{"architecture": "amd64"}', b"a layer"
        blobs = [{"digest": sha(blob), "size": len(blob)} for blob in (self.config, self.layer)]
        manifest = {"mediaType": PULL.MANIFESTS[0], "config": blobs[0], "layers": [blobs[1], blobs[1]]}
        self.manifest = json.dumps(manifest).encode()
        platforms = [
            {"digest": sha(b"other"), "platform": {"os": "linux", "architecture": "s390x"}},
            {"digest": sha(self.manifest), "platform": {"os": "linux", "architecture": machine_arch()}},
        ]
        self.index = json.dumps({"mediaType": PULL.INDEXES[0], "manifests": platforms}).encode()
        for name in ("1.0", sha(self.index)):
            self.files[f"manifests/{name}"] = self.index
        self.files[f"manifests/{sha(self.manifest)}"] = self.manifest
        for blob in (self.config, self.layer):
            self.files[f"blobs/{sha(blob)}"] = blob

    def _file(self, asked: Asked) -> tuple[int, bytes]:
        body = self.files.get(asked.path.removeprefix("/v2/tools/thing/"))
        return 401 if self.closed else 404 if body is None else 200, body or b""


@pytest.fixture(name="registry")
def _registry() -> Iterator[Registry]:
    with Registry() as registry:
        yield registry


def pull(registry: Registry, into: Path, *names: str) -> int:
    return int(PULL.main(["--depot", registry.url, "--into", str(into), *(names or (NAME,))]))


def test_one_architecture_s_image_is_archived_by_its_name(registry: Registry, tmp_path: Path) -> None:
    assert pull(registry, tmp_path / "images") == 0
    (path,) = (tmp_path / "images").iterdir()
    with tarfile.open(path) as tar:
        found = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    (entry,) = json.loads(found["index.json"])["manifests"]
    assert entry["annotations"] == {"io.containerd.image.name": NAME}
    assert entry["digest"] == sha(registry.manifest)
    for blob in (registry.manifest, registry.config, registry.layer):
        assert found[f"blobs/sha256/{sha(blob).removeprefix('sha256:')}"] == blob
    assert all(asked.target.endswith("?ns=registry.example") for asked in registry.asked)


def test_a_second_run_fetches_no_blob_and_changes_nothing(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pull(registry, tmp_path)
    registry.asked.clear()
    assert pull(registry, tmp_path) == 0
    assert [asked for asked in registry.asked if "/blobs/" in asked.path] == []
    assert capsys.readouterr().out == "changed\nthe same\n"


def test_what_is_wanted_no_more_is_removed(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "old.tar").touch()
    pull(registry, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["registry.example_tools_thing_1.0.tar"]


def test_a_digest_is_asked_for_in_place_of_the_tag(registry: Registry, tmp_path: Path) -> None:
    assert pull(registry, tmp_path, f"{NAME}@{sha(registry.index)}") == 0
    assert not any("/manifests/1.0" in asked.path for asked in registry.asked)
    assert PULL.archived(tmp_path / "registry.example_tools_thing_1.0.tar") == sha(registry.manifest)


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        ("index", "what came for sha256:"),
        ("manifest", "what came for sha256:"),
        ("layer", "what came for sha256:"),
        ("short", "cannot be had"),
        ("missing", "answers 404"),
    ],
)
def test_what_is_not_what_its_digest_says_is_not_kept(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str], spoilt: str, says: str
) -> None:
    spoil = {
        "index": (f"manifests/{sha(registry.index)}", registry.index + b" "),
        "manifest": (f"manifests/{sha(registry.manifest)}", registry.manifest + b" "),
        "layer": (f"blobs/{sha(registry.layer)}", b"b layer"),
        "short": (f"blobs/{sha(registry.layer)}", b"a"),
    }
    if spoilt == "missing":
        del registry.files[f"blobs/{sha(registry.config)}"]
    else:
        name, content = spoil[spoilt]
        registry.files[name] = content
    assert pull(registry, tmp_path, f"{NAME}@{sha(registry.index)}") == 1
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_image_for_other_machines_is_refused(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.files["manifests/1.0"] = registry.index.replace(machine_arch().encode(), b"riscv64")
    assert pull(registry, tmp_path) == 1
    assert f"is not made for linux/{machine_arch()}" in capsys.readouterr().err


def test_a_registry_that_wants_a_sign_in_is_said(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.closed = True
    assert pull(registry, tmp_path) == 1
    assert "answers 401 Unauthorized; it wants a sign-in: take the image from a depot" in capsys.readouterr().err


def test_a_registry_that_does_not_answer_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    assert PULL.main(["--depot", address, "--into", str(tmp_path), NAME]) == 1
    assert f"{NAME}: {address}/v2/tools/thing/manifests/1.0" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["pause", "pause:3.10", "registry.example/pause", "registry.example/a:1@sha256:12"])
def test_a_name_that_leaves_something_open_is_refused(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert pull(registry, tmp_path, name) == 1
    assert f"{name}: an image is named REGISTRY/PATH:TAG" in capsys.readouterr().err
    assert registry.asked == []


def test_our_own_depot_is_such_a_registry(tmp_path: Path) -> None:
    binary = tmp_path / "thing"
    binary.write_bytes(b"\x7fELF")
    depot = tmp_path / "depot"
    for name in ("binaries", "debian"):
        (depot / name).mkdir(parents=True)
    write_layout(depot / "images", [Image(name=NAME, binary=binary, entrypoint=("/thing",))], arch=machine_arch())
    with served(depot) as address:
        assert PULL.main(["--depot", address, "--into", str(tmp_path / "into"), NAME]) == 0
    index = json.loads((depot / "images/index.json").read_text())
    (path,) = (tmp_path / "into").iterdir()
    assert PULL.archived(path) == index["manifests"][0]["digest"]


def test_a_depot_is_asked_for_all_and_registries_for_what_has_a_digest() -> None:
    declared = PINS.from_toml((repository() / "images/image.toml").read_text(encoding="utf-8"))
    pins = PINS.from_toml((repository() / "tools.toml").read_text(encoding="utf-8"))
    wanted, versions = image_contents.load(), {tool.name: tool.version for tool in load().tools}
    images = [image for image in wanted.images if image.tool in wanted.preloaded]
    names = {f"{image.name}:{image.tag.format(version=versions[image.tool])}" for image in images}
    assert len(names) == len(wanted.preloaded) > 0
    from_depot = FILTER.preloaded(declared, pins, "node", "https://depot.example")
    from_registries = FILTER.preloaded(declared, pins, "node")
    assert set(from_depot) == names
    assert {name.partition("@")[0] for name in from_registries} == names - set(omitted_images())
    for name in from_registries:
        assert PULL.Reference.of(name).wanted.startswith("sha256:")
    assert FILTER.preloaded(declared, pins, "gateway", "https://depot.example") == []


def test_a_depot_is_asked_for_the_digests_that_are_signed() -> None:
    entries = [{"digest": sha(b"one"), "annotations": {"io.containerd.image.name": NAME}}]
    index = json.dumps({"manifests": entries})
    assert FILTER.with_digests([NAME], index) == [f"{NAME}@{sha(b'one')}"]
    with pytest.raises(AnsibleFilterError, match="the depot lacks other: fill it"):
        FILTER.with_digests([NAME, "other"], index)
