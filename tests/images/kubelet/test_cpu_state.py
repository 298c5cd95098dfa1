"""The kubelet's saved state of processors never prevents its start, and never takes processors from a running pod."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kubelet import cpu_state as kubelet_cpu_state
from kubelet.cpu_state import KubeletPaths

from tests.render.conftest import node_cases

STATIC = "kind: KubeletConfiguration\ncpuManagerPolicy: static\ncpuManagerPolicyOptions:\n  x: 'true'\n"
PLAIN = "kind: KubeletConfiguration\nmaxPods: 16\n"

POD = "kubepods.slice/kubepods-pod1.slice"


@pytest.fixture(name="paths")
def _paths(tmp_path: Path) -> KubeletPaths:
    found = KubeletPaths(
        configuration=tmp_path / "kubelet.yaml",
        state=tmp_path / "cpu_manager_state",
        kept=tmp_path / "kubelet.conf.d/50-cpu-policy.conf",
        cgroups=tmp_path / "cgroup",
    )
    found.cgroups.mkdir()
    found.configuration.write_text(PLAIN)
    return found


def remember(paths: KubeletPaths, policy: str) -> None:
    """Write the file as a kubelet with that policy leaves it (state/checkpoint.go)."""
    paths.state.write_text(json.dumps({"policyName": policy, "defaultCpuSet": "0-1", "checksum": 1}))


def run(paths: KubeletPaths, cgroup: str, procs: str = "4711\n") -> None:
    folder = paths.cgroups / cgroup / "cri-containerd-1.scope"
    folder.mkdir(parents=True)
    (paths.cgroups / cgroup / "cgroup.procs").write_text("")
    (folder / "cgroup.procs").write_text(procs)


def test_a_node_that_never_ran(paths: KubeletPaths) -> None:
    kubelet_cpu_state.settle(paths)
    assert not paths.kept.exists()


@pytest.mark.parametrize("had", ["none", "static"])
@pytest.mark.parametrize("wanted", [PLAIN, STATIC])
@pytest.mark.parametrize(
    "cgroup",
    [
        None,
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice",
        "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice",
        "cpuset/kubepods/burstable/pod1",
    ],
)
def test_where_no_guaranteed_pod_runs_everything_is_forgotten(
    paths: KubeletPaths, had: str, wanted: str, cgroup: str | None
) -> None:
    """After a boot, on a drained node, and beside pods without processors of their own."""
    remember(paths, had)
    paths.configuration.write_text(wanted)
    if cgroup is not None:
        run(paths, cgroup)
    kubelet_cpu_state.settle(paths)
    assert not paths.state.exists()
    assert not paths.kept.exists()


@pytest.mark.parametrize("cgroup", [POD, "kubepods/pod1", "cpuset/kubepods/pod1", f"systemd/{POD}"])
@pytest.mark.parametrize(("had", "wanted"), [("none", STATIC), ("static", PLAIN)])
def test_a_pod_that_runs_keeps_its_policy(paths: KubeletPaths, cgroup: str, had: str, wanted: str) -> None:
    remember(paths, had)
    before = paths.state.read_bytes()
    paths.configuration.write_text(wanted)
    run(paths, cgroup)
    said = kubelet_cpu_state.settle(paths)
    assert f"policy {had}" in said
    assert paths.state.read_bytes() == before
    dropped = json.loads(paths.kept.read_text())
    assert dropped["cpuManagerPolicy"] == had
    assert dropped["cpuManagerPolicyOptions"] is None
    # The kubelet would read any other file there as well.
    assert list(paths.kept.parent.iterdir()) == [paths.kept]


@pytest.mark.parametrize(("had", "wanted"), [("none", PLAIN), ("static", STATIC)])
def test_the_same_policy_goes_on(paths: KubeletPaths, had: str, wanted: str) -> None:
    remember(paths, had)
    paths.configuration.write_text(wanted)
    run(paths, POD)
    kubelet_cpu_state.settle(paths)
    assert paths.state.exists()
    assert not paths.kept.exists()


def test_once_the_pod_has_ended_the_new_policy_holds(paths: KubeletPaths) -> None:
    remember(paths, "none")
    paths.configuration.write_text(STATIC)
    run(paths, POD)
    kubelet_cpu_state.settle(paths)
    assert paths.kept.exists()
    (paths.cgroups / POD / "cri-containerd-1.scope/cgroup.procs").write_text("")
    kubelet_cpu_state.settle(paths)
    assert not paths.kept.exists()
    assert not paths.state.exists()


def test_a_file_of_somebody_else_s_beside_a_pod_is_refused(paths: KubeletPaths) -> None:
    paths.state.write_text("{}")
    run(paths, POD)
    with pytest.raises(OSError, match="drain this node"):
        kubelet_cpu_state.settle(paths)


def test_the_policy_is_found_in_what_is_rendered() -> None:
    texts = {node.name: node.files()["/etc/longhaul/kubelet.yaml"].content for node in node_cases()}
    found = {
        name: match[1] if (match := kubelet_cpu_state.POLICY.search(text)) else "none" for name, text in texts.items()
    }
    assert (found["prod-h100"], found["prod-gpu-00"], found["prod-cpu"]) == ("static", "static", "none")


def test_it_runs_before_the_kubelet_and_reads_what_that_reads(rootfs: Path) -> None:
    unit = (rootfs / "etc/systemd/system/kubelet.service").read_text()
    paths = KubeletPaths()
    assert unit.index("ExecStartPre=/usr/local/lib/longhaul/longhaul-program kubelet.cpu_state") < unit.index(
        "ExecStart="
    )
    assert f"--config={paths.configuration}" in unit
    assert f"--config-dir={paths.kept.parent}" in unit
    assert paths.kept.suffix == ".conf"
