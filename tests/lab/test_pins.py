"""Every part of the lab is pinned, and values that are written in two places agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from components.model.versions.section import companion_versions, offered_versions
from components.model.versions.steps import minor, numbers
from components.objects.queue_managers import source
from lab import tools
from lab.queue_objects import FOLDER, documents, text_of
from longhaul.artifacts import image_contents
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.golang import find_compiler
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import Binary, Tool, load, repository

ROOT = repository()
SPEC = load()
VERSIONS = {release: offered_versions(release) for release in SPEC.versions}
OTHERS = {
    (release, version): load(versions={release: version})
    for release, versions in VERSIONS.items()
    for version in versions[1:]
}
"""Pins with one release at another of its versions."""
TOOLS = [*SPEC.tools, *(tool for (name, _), spec in OTHERS.items() for tool in spec.tools if tool.release == name)]
BINARIES = [
    pytest.param(tool, binary, id=f"{binary.name}-{tool.version}") for tool in TOOLS for binary in tool.binaries
]
MODULES = sorted({binary.module for tool in TOOLS for binary in tool.binaries})
KUBERNETES = SPEC.versions["kubernetes"]
OF_KUBERNETES = {
    KUBERNETES: "kubernetes",
    **{version: f"kubernetes-{version}" for version in VERSIONS["kubernetes"][1:]},
}
"""Folders of modules by version."""
OF_ANOTHER_RELEASE = {
    "pulumi-language-python": "v3.76.0",
    **dict.fromkeys(("agnhost", "localhost.crt", "localhost.key"), f"v{KUBERNETES}"),
}
"""Versions of binaries whose module has a version of its own."""
TELL_A_CLUSTER = ("kueue", "jobset", "kwok")
"""Tools that say their version once they have a cluster (tests/components/objects/test_queues.py), or with more that
depends on the machine."""
OURS = "longhaul/tools/"
"""Prefix of modules whose code is beside their go.mod."""


def go_mod(module: str) -> str:
    return (SPEC.modules_dir / module / "go.mod").read_text(encoding="utf-8")


def required(module: str) -> dict[str, str]:
    """Return the versions that a go.mod requires, with its replacements."""
    text = go_mod(module)
    found = dict(re.findall(r"^(?:require |\t)(\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE))
    replaced = re.findall(r"^(?:replace |\t)(\S+) => \S+ (v\S+)$", text, re.MULTILINE)
    return found | dict(replaced)


def owner(package: str, modules: dict[str, str]) -> str:
    return max((module for module in modules if f"{package}/".startswith(f"{module}/")), key=len)


@pytest.mark.parametrize(("tool", "binary"), BINARIES)
def test_a_binary_is_of_its_release_in_go_mod_too(tool: Tool, binary: Binary) -> None:
    modules = required(binary.module)
    if binary.package.startswith(OURS):
        assert binary.package == f"{OURS}{binary.module}"
        assert f"module {binary.package}\n" in go_mod(binary.module)
        return
    version = modules[owner(binary.package or binary.file, modules)]
    assert version == OF_ANOTHER_RELEASE.get(binary.name, f"v{tool.version}")


@pytest.mark.parametrize(("tool", "binary"), BINARIES)
def test_a_binary_is_compiled_or_copied_and_its_module_names_what_is_compiled(tool: Tool, binary: Binary) -> None:
    assert bool(binary.package) != bool(binary.file)
    if binary.package and not binary.package.startswith(OURS):
        # A `tool` line makes go.sum complete for the binary.
        assert re.search(rf"^(?:tool |\t){re.escape(binary.package)}$", go_mod(binary.module), re.MULTILINE)
    assert bool(binary.check) == bool(binary.answer)


@pytest.mark.parametrize("tool", [pytest.param(tool, id=f"{tool.name}-{tool.version}") for tool in TOOLS])
def test_a_tool_can_be_asked_its_version(tool: Tool) -> None:
    assert tool.name in TELL_A_CLUSTER or any(tool.version in binary.answer for binary in tool.binaries)


def test_images_of_containers_are_of_what_the_pins_have() -> None:
    declared = {image.tool: image for image in image_contents.load().images}
    versions = {tool.name: tool.version for tool in SPEC.tools}
    assert set(declared) <= set(versions)
    assert {tool.name for tool in SPEC.select(["coredns", "agnhost", "pause"])} == set(declared)


def test_every_machine_starts_pods_with_the_image_that_the_depot_has() -> None:
    pause = next(image for image in image_contents.load().images if image.tool == "pause")
    version = next(tool.version for tool in SPEC.tools if tool.name == "pause")
    config = (ROOT / "images/rootfs/etc/containerd/conf.d/10-longhaul.toml").read_text(encoding="utf-8")
    assert f'"{pause.name}:{pause.tag.format(version=version)}"' in config


def test_the_binaries_of_machines_are_of_tools_with_pins() -> None:
    listed = image_contents.load()
    assert set(listed.host_tools) <= set(listed.node_tools)
    assert {tool.name for tool in SPEC.select(listed.node_tools)} == set(listed.node_tools)


@pytest.mark.engine
def test_agnhost_is_of_the_version_that_its_module_says(tmp_path: Path) -> None:
    (agnhost,) = SPEC.select(["agnhost"])
    log = tmp_path / "log"
    compiler = find_compiler(SPEC.go, log=log, progress=print)
    folder = SPEC.modules_dir / "kubernetes"
    # It may be the first who wants the module on this machine.
    words = [str(compiler.go), "mod", "download", "-json", "k8s.io/kubernetes"]
    module = json.loads(output_of(words, cwd=folder, env=compiler.env()))
    assert (Path(module["Dir"]) / "test/images/agnhost/VERSION").read_text().strip() == agnhost.version


@pytest.mark.parametrize(("version", "module"), OF_KUBERNETES.items())
def test_kubernetes_is_of_one_release_throughout(version: str, module: str) -> None:
    minor = version.split(".")[1]
    staging = {name: found for name, found in required(module).items() if found.startswith(f"v0.{minor}.")}
    assert len(staging) > 20
    assert set(staging.values()) == {version.replace("1.", "v0.", 1)}
    binaries = [binary for tool in TOOLS for binary in tool.binaries if binary.module == module]
    flags = " ".join(flag for binary in binaries for flag in binary.ldflags)
    assert set(re.findall(r"k8s\.io/\S+\.gitMinor=(\d+)", flags)) == {minor}


@pytest.mark.engine
@pytest.mark.parametrize(("version", "module"), OF_KUBERNETES.items())
def test_what_belongs_to_a_version_of_kubernetes_is_what_its_source_names(
    version: str, module: str, tmp_path: Path
) -> None:
    compiler = find_compiler(SPEC.go, log=tmp_path / "log", progress=print)
    words = [str(compiler.go), "mod", "download", "-json", "k8s.io/kubernetes"]
    source = Path(json.loads(output_of(words, cwd=SPEC.modules_dir / module, env=compiler.env()))["Dir"])
    said = (source / "cmd/kubeadm/app/constants/constants.go").read_text(encoding="utf-8")
    constants = dict(re.findall(r'^\t(\w+Version) = "v?([0-9.]+)[^"]*"$', said, re.MULTILINE))
    assert companion_versions(version) == {
        "etcd": constants["DefaultEtcdVersion"],
        "etcd_least": constants["MinExternalEtcdVersion"],
        "coredns": constants["CoreDNSVersion"],
        "pause": constants["PauseVersion"],
        "go": (source / ".go-version").read_text(encoding="utf-8").strip(),
    }


@pytest.mark.parametrize("version", VERSIONS["kubernetes"])
def test_every_version_of_kubernetes_is_served_by_every_etcd_and_built_by_the_go_of_its_line(version: str) -> None:
    named = companion_versions(version)
    assert all(numbers(etcd) >= numbers(named["etcd_least"]) for etcd in VERSIONS["etcd"])
    assert minor(SPEC.go.version) == minor(named["go"])


def test_a_version_that_is_not_the_default_is_made_only_for_who_names_it() -> None:
    assert {tool.version for tool in SPEC.select([]) if tool.release in ("etcd", "kubernetes")} == {
        VERSIONS["etcd"][0],
        KUBERNETES,
    }
    with pytest.raises(SetupError, match=r"tools\.toml has no etcd 3\.5\.1; it has .*, .*"):
        load(versions={"etcd": "3.5.1"})


def test_a_version_without_a_checksum_is_never_downloaded() -> None:
    for (release, version), spec in OTHERS.items():
        for tool in spec.select([release]):
            assert tool.version == version
            assert all(version in download.url for download in tool.downloads.values())
    (built,) = load(versions={"etcd": VERSIONS["etcd"][-1]}).select(["etcd"])
    assert built.downloads == {}


@pytest.mark.parametrize("version", VERSIONS["kubernetes"])
def test_a_version_of_kubernetes_is_written_once(version: str) -> None:
    """Exceptions are the Go modules that Kubernetes is built of, the records of releases, and tests of steps to another
    version, which may be any. Everything else reads the version."""
    pattern = rf"(^|[^0-9.]){re.escape(version)}($|[^0-9])"
    recorded = [":!tools", ":!*.lock", ":!tests/upgrade" if version == KUBERNETES else ":!tests", ":!CHANGELOG.md"]
    command = ["git", "grep", "-lE", pattern, "--", ".", *recorded]
    assert subprocess.check_output(command, cwd=ROOT, text=True).split() == ["tools.toml"]


@pytest.mark.parametrize("module", MODULES)
def test_the_pinned_compiler_is_new_enough_for_every_module(module: str) -> None:
    line = re.search(r"^go (\d+)\.(\d+)", go_mod(module), re.MULTILINE)
    assert line is not None
    assert (int(line[1]), int(line[2])) <= tuple(int(part) for part in SPEC.go.version.split(".")[:2])


@pytest.mark.parametrize("module", MODULES)
def test_go_sum_has_everything_that_go_mod_requires(module: str) -> None:
    sums = (SPEC.modules_dir / module / "go.sum").read_text(encoding="utf-8")
    text = go_mod(module)
    renamed = {
        name: (new, version)
        for name, new, version in re.findall(r"^(?:replace |\t)(\S+) => (\S+) (v\S+)$", text, re.MULTILINE)
    }
    for name, version in required(module).items():
        wanted, exact = renamed.get(name, (name, version))
        if name in renamed and f"{wanted} {exact}" not in sums:
            continue  # replaced, but not part of any build
        assert f"{wanted} {exact}/go.mod h1:" in sums


def locked(name: str) -> dict[str, str]:
    """Return the version of each package, and assert that each has hashes."""
    versions: dict[str, str] = {}
    for entry in re.split(r"\n(?=[a-zA-Z])", (ROOT / name).read_text(encoding="utf-8")):
        if match := re.match(r"([A-Za-z0-9._-]+)==(\S+)", entry):
            assert "--hash=sha256:" in entry, f"{match[1]} has no hash in {name}"
            versions[match[1].lower()] = match[2]
    return versions


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[=<>~;\[ ]", line)[0].lower() for line in requirements]


def test_every_python_dependency_is_locked_with_hashes() -> None:
    declared = project()["project"]
    run, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert set(names(declared["dependencies"])) <= set(run)
    assert set(names(declared["optional-dependencies"]["dev"])) <= set(dev)
    assert run.items() <= dev.items()


def test_the_build_backend_is_the_locked_one() -> None:
    (backend,) = project()["build-system"]["requires"]
    assert backend == f"hatchling=={locked('requirements.lock')['hatchling']}"


def test_the_engine_and_its_python_sdk_are_of_one_version() -> None:
    engine = next(tool.version for tool in SPEC.tools if tool.name == "pulumi")
    assert locked("requirements.lock")["pulumi"] == engine


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_no_registry(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text


def test_downloads_are_of_the_pinned_version() -> None:
    for tool in TOOLS:
        for download in tool.downloads.values():
            assert download.url.startswith("https://")
            assert f"v{tool.version}" in download.url


def test_a_checksum_that_is_none_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "tools.toml").read_text(encoding="utf-8")
    path = tmp_path / "tools.toml"
    path.write_text(re.sub(r'sha256 = "[0-9a-f]+"', 'sha256 = "unknown"', text, count=1), encoding="utf-8")
    with pytest.raises(Exception, match="pulumi: `sha256` must be 64 hexadecimal digits"):
        load(path)


@pytest.mark.engine
@pytest.mark.parametrize(("tool", "binary"), BINARIES)
def test_a_binary_says_that_it_is_its_version(tool: Tool, binary: Binary, tmp_path: Path) -> None:
    rare = tool.version != SPEC.versions[tool.release] or tool.on_demand
    if rare and not tools.tool_dir(tool, spec=SPEC).is_dir():
        pytest.skip(
            f"{tool.name} {tool.version} is on demand: `python -m lab.tools ensure {tool.release}@{tool.version}`"
        )
    spec = load(versions={tool.release: tool.version})
    found = tools.ensure([tool.name], log_dir=tmp_path, progress=print, spec=spec)
    if binary.check:
        done = subprocess.run([found[binary.name], *binary.check], capture_output=True, text=True, check=True)
        assert binary.answer in (done.stdout + done.stderr).splitlines()
    assert os.access(found[binary.name], os.X_OK)


def test_objects_of_queues_are_of_the_pinned_versions() -> None:
    for name in ("kueue", "jobset"):
        assert source(name)["version"] == f"v{SPEC.versions[name]}", "run `python -m lab.queue_objects`"
    pinned = required("kueue")["k8s.io/autoscaler/cluster-autoscaler/apis"]
    assert source("provisioning")["version"] == pinned


@pytest.mark.engine
def test_objects_of_queues_are_what_their_modules_have(tmp_path: Path) -> None:
    kubectl = tools.ensure(["kubectl"], log_dir=tmp_path, progress=print)["kubectl"]
    for name, document in documents(kubectl=kubectl).items():
        kept = (ROOT / FOLDER / f"{name}.json").read_text(encoding="utf-8")
        assert kept == text_of(document), "run `python -m lab.queue_objects`"
