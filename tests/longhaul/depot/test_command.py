"""`longhaul depot build` and `verify`: their output, and the meaning of their exit codes."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.signing import KEY
from longhaul.artifacts import image_contents
from longhaul.artifacts.depot_content import DepotContent, Pull
from longhaul.artifacts.layout import DepotParts
from longhaul.artifacts.manifest import SUMS, digest_of, seal
from longhaul.cli import main
from longhaul.depot import gather
from longhaul.depot.gather import DepotSources
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout
from tests.support.gpg import gpg, needs_gpg
from tests.support.signed_depot import Key, make_key

DIGEST = f"sha256:{'a' * 64}"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[DepotContent, DepotSources]]:
    """Requests to fetch, which are recorded only."""
    found: list[tuple[DepotContent, DepotSources]] = []

    def nothing(wanted: DepotContent, sources: DepotSources) -> DepotParts:
        found.append((wanted, sources))
        return DepotParts(binaries={}, archives={}, images=[])

    monkeypatch.setattr(gather, "gather", nothing)
    return found


def build(checkout: Checkout, *words: str) -> int:
    argv = ("depot", "build", "--env", "dev", "--project", str(checkout.path), "--to", str(checkout.path / "depot"))
    return main([*argv, *words])


def test_build_says_the_digest_that_verify_takes(
    checkout: Checkout, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(checkout) == Exit.OK
    digest = capsys.readouterr().out.strip()
    folder = str(checkout.path / "depot")
    assert digest == digest_of(checkout.path / "depot")
    assert main(["depot", "verify", folder, "--digest", digest]) == Exit.OK
    assert main(["depot", "verify", folder, "--digest", f"sha256:{digest}"]) == Exit.OK
    assert main(["depot", "verify", folder, "--digest", "0" * 64]) == Exit.FAILED
    assert f"{SUMS}: its SHA-256 is {digest}, not {'0' * 64}" in capsys.readouterr().out


def test_build_and_verify_answer_programs(
    checkout: Checkout, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(checkout, "--json") == Exit.OK
    first = json.loads(capsys.readouterr().out)
    assert (first["changed"], first["good"], first["folder"]) == (True, True, str(checkout.path / "depot"))
    assert build(checkout, "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out) == {**first, "changed": False}
    (checkout.path / "depot" / "more").touch()
    assert main(["depot", "verify", "--json", first["folder"]]) == Exit.FAILED
    report = json.loads(capsys.readouterr().out)
    assert (report["good"], report["digest"]) == (False, first["digest"])
    assert report["problems"] == [{"kind": "extra", "path": "more", "message": "is in no list"}]


@pytest.fixture(name="signer")
def _signer(
    checkout: Checkout, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Key]:
    """A builder whose gpg has a key, which the environment's file names."""
    key = make_key(tmp_path_factory.mktemp("builder") / "g")
    monkeypatch.setenv("GNUPGHOME", str(key.home))
    checkout.write({**checkout.environment(), "depots": {"key": key.public}})
    yield key
    key.end()


def signed_by(checkout: Checkout, key: Key) -> str:
    path = checkout.path / "key.gpg"
    path.write_bytes(base64.b64decode(key.public))
    return f"--signed-by={path}"


@needs_gpg
def test_what_build_signs_is_whose_verify_says(
    checkout: Checkout, asked: list[Any], signer: Key, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(checkout, "--sign", "somebody") == Exit.OK
    folder, key = str(checkout.path / "depot"), signed_by(checkout, signer)
    assert main(["depot", "verify", folder, key]) == Exit.OK
    (checkout.path / "depot/SHA256SUMS.gpg").unlink()
    assert main(["depot", "verify", folder]) == Exit.OK
    assert "its signature was not checked" in capsys.readouterr().out
    assert main(["depot", "verify", folder, key]) == Exit.FAILED
    assert "unsigned     SHA256SUMS: there is no SHA256SUMS.gpg" in capsys.readouterr().out
    assert build(checkout, "--sign", "somebody", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["changed"], "the signature was missing"
    assert build(checkout, "--sign", "somebody", "--json") == Exit.OK
    assert not json.loads(capsys.readouterr().out)["changed"]


@needs_gpg
def test_another_key_signs_what_has_not_changed(
    checkout: Checkout, asked: list[Any], signer: Key, capsys: pytest.CaptureFixture[str]
) -> None:
    gpg(signer.home, "--passphrase", "", "--quick-generate-key", "newer", "ed25519", "sign", "never")
    gpg(signer.home, "--output", str(checkout.path / "newer.gpg"), "--export", "newer")
    gpg(signer.home, "--output", str(checkout.path / "both.gpg"), "--export")
    both = base64.b64encode((checkout.path / "both.gpg").read_bytes()).decode()
    checkout.write({**checkout.environment(), "depots": {"key": both}})
    newer = f"--signed-by={checkout.path / 'newer.gpg'}"
    for name, whose in (("somebody", Exit.FAILED), ("newer", Exit.OK)):
        assert build(checkout, "--sign", name) == Exit.OK
        assert main(["depot", "verify", str(checkout.path / "depot"), newer]) == whose
    assert "is signed by a key that is not the builder's" in capsys.readouterr().out


@needs_gpg
def test_checksums_made_anew_are_somebody_else_s(
    checkout: Checkout, asked: list[Any], signer: Key, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(checkout, "--sign", "somebody") == Exit.OK
    depot, signature = checkout.path / "depot", (checkout.path / "depot/SHA256SUMS.gpg").read_bytes()
    (depot / "binaries" / "more").write_text("evil")
    seal(depot, {})
    (depot / "SHA256SUMS.gpg").write_bytes(signature)
    assert main(["depot", "verify", str(depot)]) == Exit.OK
    assert main(["depot", "verify", str(depot), signed_by(checkout, signer)]) == Exit.FAILED
    assert "unsigned     SHA256SUMS: was changed after it was signed" in capsys.readouterr().out


@needs_gpg
@pytest.mark.parametrize(
    ("named", "raw", "says"),
    [
        ("nobody", {}, "gpg does not sign with 'nobody'"),
        ("somebody", {"depots": {"key": KEY}}, "is signed by a key that is not the builder's"),
        ("somebody", {"depots": {}}, "dev has no `depots.key`"),
    ],
)
def test_a_key_that_machines_would_refuse_is_said_before_anything_is_fetched(
    checkout: Checkout,
    asked: list[Any],
    signer: Key,
    capsys: pytest.CaptureFixture[str],
    named: str,
    raw: dict[str, Any],
    says: str,
) -> None:
    checkout.write({**checkout.environment(), **raw})
    assert build(checkout, "--sign", named) != Exit.OK
    assert says in capsys.readouterr().err
    assert asked == []


def test_without_a_signature_it_is_said(
    checkout: Checkout, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(checkout) == Exit.OK
    assert "it is not signed, so machines install nothing from it" in capsys.readouterr().err


def test_options_say_what_goes_in(checkout: Checkout, asked: list[tuple[DepotContent, DepotSources]]) -> None:
    listed = checkout.path / "noble.list"
    listed.write_text("# Ubuntu\ndeb [signed-by=/k] http://mirror.example noble main\n\n")
    image = f"registry.example/team/train:v1@{DIGEST}"
    words = ("--site", "weu", "--suite", "noble", "--sources", f"noble={listed}", "--image", image, "--make-images")
    words += ("--package", "noble=dkms", "--package", "noble=nvidia-smi=535.1-1", "--driver", "noble=6.8.0-60-generic")
    assert build(checkout, *words, "--refresh") == Exit.OK
    ((wanted, sources),) = asked
    assert (wanted.environment, wanted.sites, wanted.suites) == ("dev", ("weu",), ("noble",))
    assert wanted.pulls == (Pull(name="registry.example/team/train:v1", digest=DIGEST),)
    assert wanted.extra[:3] == (
        ("noble", "dkms"),
        ("noble", "nvidia-smi=535.1-1"),
        ("noble", "linux-headers-6.8.0-60-generic"),
    )
    assert sources.archives == {"noble": ("deb [signed-by=/k] http://mirror.example noble main",)}
    assert sources.refresh


def test_without_options_it_is_the_releases_own(
    checkout: Checkout, asked: list[tuple[DepotContent, DepotSources]]
) -> None:
    assert build(checkout) == Exit.OK
    ((wanted, sources),) = asked
    assert wanted.suites == (image_contents.load().suite,)
    assert [pull.name.rpartition(":")[0] for pull in wanted.pulls] == ["registry.k8s.io/pause"]
    assert (dict(sources.archives), sources.refresh) == ({}, False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--site", "lost"), "dev has no site 'lost'; it has weu"),
        (("--sources", "noble=noble.list"), "--sources names noble, which no --suite names"),
        (("--package", "noble=dkms"), "--package names noble, which no --suite names"),
        (("--driver", "noble=6.8.0-60-generic"), "--driver names noble, which no --suite names"),
        (("--driver", "trixie=6.12.0-1-amd64"), "no branch of NVIDIA's driver is pinned for trixie"),
        (("--driver", "bookworm=6.1.0-56-amd64=open"), "bookworm has no open modules of branch"),
    ],
)
def test_what_cannot_be_asked_is_said(
    checkout: Checkout,
    asked: list[Any],
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    says: str,
) -> None:
    assert build(checkout, *words) == Exit.USAGE
    assert says in capsys.readouterr().err
    assert asked == []
    assert not (checkout.path / "depot").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("build",),
        ("build", "--to", "d", "--image", "train:v1"),
        ("build", "--to", "d", "--sources", "noble"),
        ("build", "--to", "d", "--package", "dkms"),
        ("build", "--to", "d", "--package", "noble=--config-file"),
        ("verify",),
        ("verify", "d", "--digest", "short"),
        ("verify", "d", "--signed-by", "/nowhere/key"),
        ("verify", "d", "--signed-by", "/etc/passwd"),
        ("fly",),
        (),
    ],
)
def test_wrong_usage_is_2(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["depot", *words])
    assert ended.value.code == Exit.USAGE


def test_a_sources_list_without_archives_is_refused(
    checkout: Checkout, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    listed = checkout.path / "noble.list"
    listed.write_text("Types: deb\n")
    assert build(checkout, "--suite", "noble", "--sources", f"noble={listed}") == Exit.USAGE
    assert "names no archive" in capsys.readouterr().err


def test_what_cannot_be_had_fails_with_its_reason(
    checkout: Checkout, asked: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = image_contents.load(gpus=True)
    bare = tuple(replace(image, digests={}) for image in ours.images)
    monkeypatch.setattr(image_contents, "load", lambda **_: replace(ours, images=bare))
    assert build(checkout) == Exit.FAILED
    assert "has no digest of registry.k8s.io/pause" in capsys.readouterr().err


def test_a_folder_of_somebody_elses_is_refused_before_anything_is_fetched(
    checkout: Checkout, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout.path / "depot").mkdir()
    (checkout.path / "depot" / "thesis").touch()
    assert build(checkout) == Exit.FAILED
    assert "holds something that is not a depot" in capsys.readouterr().err
    assert asked == []


def test_another_folder_is_no_depot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["depot", "verify", str(tmp_path)]) == Exit.USAGE
    assert "is not a depot" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["build", "verify", "serve"])
def test_each_verb_has_help_with_its_exit_codes(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["depot", verb, "--help"])
    assert ended.value.code == 0
    assert "exit codes:" in capsys.readouterr().out
