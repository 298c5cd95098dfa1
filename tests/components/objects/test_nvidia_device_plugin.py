"""NVIDIA's real device plugin, started as the objects start it: what it offers for the GPUs of a stand-in library."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from stat import S_IFCHR
from typing import Any

import pytest

from components.objects import nvidia_gpus
from components.objects.device_plugins import PLUGINS
from contract.resources import GPU_RESOURCE
from lab import packages, tools
from lab.nvml.library import build
from lab.nvml.machine import DRIVER, VARIABLE, StandInMachine, gpu
from longhaul.artifacts.oci import Image, write_layout
from longhaul.toolchain.debian import libraries
from tests.support.device_plugins import Plugin, PluginSocket

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="makes device nodes and a root of its own, which needs root"),
]

LIBRARIES = f"usr/lib/{platform.machine()}-linux-gnu"
DEVICES = ("nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
UUIDS = [gpu(number).uuid for number in range(3)]
VENDOR = "k8s.device-plugin.nvidia.com/gpu"


@pytest.fixture(scope="module", name="image")
def _image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Layer of the image that the lab's depot has, with this machine's C library."""
    folder = tmp_path_factory.mktemp("image")
    found = tools.ensure([nvidia_gpus.NAME], log_dir=folder / "log", progress=print)
    image = Image(
        name=nvidia_gpus.NAME,
        binary=found[nvidia_gpus.NAME],
        entrypoint=(f"/{nvidia_gpus.NAME}",),
        libraries=libraries(Path("/"), ["libc6"]),
    )
    write_layout(folder / "layout", [image], arch="amd64")
    blobs = folder / "layout" / "blobs" / "sha256"
    return max(blobs.iterdir(), key=lambda path: path.stat().st_size)


class Host:
    """A machine with a driver, as the plugin's container sees it."""

    def __init__(self, root: Path, *, image: Path, library: Path, layout: str) -> None:
        self.root = root
        with tarfile.open(image) as tar:
            tar.extractall(root, filter="fully_trusted")
        for folder in (PLUGINS, nvidia_gpus.SPECS, f"{nvidia_gpus.DRIVER_ROOT}/{LIBRARIES}", LIBRARIES):
            (root / folder.lstrip("/")).mkdir(parents=True)
        # Added by the runtime class.
        (root / LIBRARIES / library.name).hardlink_to(library)
        for name in DEVICES:
            # Like /dev/null: opening it is not refused.
            os.mknod(root / "dev" / name, 0o666 | S_IFCHR, os.makedev(1, 3))
        # The host's own libraries.
        of_host = root / nvidia_gpus.DRIVER_ROOT.lstrip("/") / LIBRARIES
        driver = of_host / layout
        driver.mkdir(parents=True, exist_ok=True)
        if layout:
            (of_host / library.name).symlink_to(f"/etc/alternatives/nvidia--{library.name}")
        (driver / f"libnvidia-ml.so.{DRIVER}").hardlink_to(library)
        (driver / library.name).symlink_to(f"libnvidia-ml.so.{DRIVER}")
        (driver / f"libcuda.so.{DRIVER}").write_bytes(b"")
        self.kubelet = PluginSocket(root / PLUGINS.lstrip("/"))

    def has(self, machine: StandInMachine) -> None:
        new = self.root / "new"
        new.write_text(machine.text())
        new.replace(self.root / "machine")

    @contextmanager
    def plugin(self) -> Iterator[subprocess.Popen[str]]:
        """Run the plugin as its container starts it."""
        spec: Any = nvidia_gpus.plugin_spec()
        (container,) = spec["template"]["spec"]["containers"]
        env = {one["name"]: one["value"] for one in container["env"]} | {VARIABLE: "/machine"}
        command = ["chroot", str(self.root), f"/{nvidia_gpus.NAME}", *container["args"]]
        with (self.root / "log").open("w") as log:
            running = subprocess.Popen(command, env={"PATH": os.environ["PATH"], **env}, stderr=log, text=True)
        try:
            yield running
        finally:
            running.terminate()
            running.wait()
            print((self.root / "log").read_text())

    def spec(self) -> dict[str, Any]:
        """Return the CDI specification that containerd will read."""
        (path,) = (self.root / nvidia_gpus.SPECS.lstrip("/")).iterdir()
        found: dict[str, Any] = json.loads(path.read_text())
        return found


@pytest.fixture(scope="module", name="library")
def _library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packages.ensure(packages.C, log_dir=tmp_path_factory.mktemp("log"), progress=print)
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(name="layout")
def _layout() -> str:
    """Folder of the driver's libraries, relative to the folder of libraries."""
    return ""


@pytest.fixture(name="host")
def _host(tmp_path: Path, image: Path, library: Path, layout: str) -> Iterator[Host]:
    host = Host(tmp_path / "root", image=image, library=library, layout=layout)
    host.has(xids())
    host.kubelet.start()
    yield host
    host.kubelet.stop()


@pytest.fixture(name="plugin")
def _plugin(host: Host) -> Iterator[Plugin]:
    with host.plugin():
        found = host.kubelet.registered()
        yield found
        found.close()


def unhealthy(*devices: str) -> Callable[[dict[str, str]], bool]:
    """Return a check that exactly these devices are not healthy."""
    return lambda health: bool(health) and {one for one, state in health.items() if state != "Healthy"} == {*devices}


def xids(*numbers: int | None) -> StandInMachine:
    """Return a machine whose first GPUs have these latest Xids, in order."""
    latest = dict(enumerate(numbers))
    return StandInMachine(gpus=tuple(gpu(at, xid=latest.get(at)) for at in range(len(UUIDS))))


def watched(plugin: Plugin, host: Host) -> None:
    """Wait until the plugin watches for Xids, which it begins some time after it registered. The last GPU gets one Xid
    after the other until the plugin sees one."""
    for number in islice(cycle((48, 79)), 300):
        host.has(xids(None, None, number))
        if plugin.becomes(unhealthy(UUIDS[2]), within_s=0.1):
            return
    pytest.fail("it watches for no Xid")


def test_every_gpu_is_offered_by_its_identity(plugin: Plugin) -> None:
    assert plugin.resource == GPU_RESOURCE
    assert plugin.health(unhealthy()) == dict.fromkeys(UUIDS, "Healthy")


def test_a_container_gets_its_gpus_by_name_and_nothing_by_variables(plugin: Plugin, host: Host) -> None:
    plugin.health(unhealthy())
    assert plugin.allocate(UUIDS[1]) == ([f"{VENDOR}={UUIDS[1]}"], {})
    names, _ = plugin.allocate(*UUIDS)
    assert set(names) == {f"{VENDOR}={uuid}" for uuid in UUIDS}


def test_the_kubelet_is_told_which_gpus_go_together(plugin: Plugin) -> None:
    plugin.health(unhealthy())
    assert plugin.preferred(*UUIDS, count=len(UUIDS)) == set(UUIDS)
    assert len(plugin.preferred(*UUIDS, count=1)) == 1
    assert plugin.preferred(UUIDS[1], count=1) == {UUIDS[1]}


@pytest.mark.parametrize("layout", ["", "nvidia/current"], ids=["NVIDIA's and Ubuntu's", "Debian's"])
def test_what_a_gpu_looks_like_is_the_hosts_own(plugin: Plugin, host: Host, layout: str) -> None:
    spec = host.spec()
    assert spec["kind"] == VENDOR
    devices = {one["name"]: one["containerEdits"]["deviceNodes"] for one in spec["devices"]}
    assert [one["path"] for one in devices[UUIDS[1]]] == ["/dev/nvidia1"]
    assert {*UUIDS} <= set(devices)
    edits = spec["containerEdits"]
    mounts = {one["hostPath"]: one["containerPath"] for one in edits["mounts"]}
    for name in ("libcuda", "libnvidia-ml"):
        path = str(Path("/") / LIBRARIES / layout / f"{name}.so.{DRIVER}")
        assert mounts[path] == path
    assert nvidia_gpus.DRIVER_ROOT not in json.dumps(spec), "where the container has it says nothing to the host"
    assert {one["path"] for one in edits["hooks"]} == {nvidia_gpus.CDI_HOOK}


@pytest.mark.parametrize("xid", [79, *nvidia_gpus.WATCHED_XIDS])
def test_a_gpu_with_an_xid_is_offered_no_more(plugin: Plugin, host: Host, xid: int) -> None:
    watched(plugin, host)
    host.has(xids(xid))
    plugin.health(unhealthy(UUIDS[0], UUIDS[2]))


@pytest.mark.parametrize("xid", [13, *nvidia_gpus.UNWATCHED_XIDS])
def test_an_error_of_an_application_costs_no_gpu(plugin: Plugin, host: Host, xid: int) -> None:
    watched(plugin, host)
    # The plugin sees events in the order of GPUs: once it saw the second GPU's, it has seen the first one's.
    host.has(xids(xid, 79))
    plugin.health(unhealthy(UUIDS[1], UUIDS[2]))


def test_it_registers_again_with_a_kubelet_that_started_again(plugin: Plugin, host: Host) -> None:
    plugin.health(unhealthy())
    host.kubelet.stop()
    host.kubelet = PluginSocket(host.root / PLUGINS.lstrip("/"))
    host.kubelet.start()
    again = host.kubelet.registered()
    try:
        assert set(again.health(unhealthy())) == {*UUIDS}
    finally:
        again.close()


def test_without_a_driver_it_ends_and_says_so(host: Host) -> None:
    (host.root / "machine").unlink()
    with host.plugin() as running:
        assert running.wait(timeout=30) == 1
    assert "nvml init failed" in (host.root / "log").read_text()
