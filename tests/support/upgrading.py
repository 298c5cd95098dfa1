"""An environment that goes to other versions while it is loaded: what each machine runs, and the verifier's verdict."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.config import LabConfig
from lab.drill.environment import DrillEnvironment
from lab.drill.members import hashes
from lab.drill.run import VerifierProcess
from lab.project import LabProject
from lab.start import start
from longhaul.project.baked_images import MANIFEST
from longhaul.toolchain.trees import link_system
from tests.support.project import Project

CONTROL = "weu"


def wish(project: Project, *, image: str, **versions: str) -> str:
    """Write versions into the environment's file, and the image of its control plane, by its version. Return the
    image's id."""
    raw = project.read()
    name: str = raw["sites"][CONTROL]["image"].rpartition("/")[0] + f"/{image}"
    raw["sites"][CONTROL]["image"] = name
    raw["versions"] = {**raw.get("versions", {}), **versions}
    project.write(raw)
    return name


def give_image(project: Project, name: str, root: Path) -> None:
    """Give the lab an image of the test's own."""
    state = _lab(project).state
    config = LabConfig.read(state)
    start(state, replace(config, images={**config.images, name: str(root)}), say=print)


def broken_copy(project: Project, name: str, folder: Path, *, unit: str) -> Path:
    """Return a copy of an image's root in which a unit is started with a flag that its program does not know."""
    root = Path(LabConfig.read(_lab(project).state).images[name])
    copy = folder / "rootfs"
    link_system(root, copy)
    shutil.copy(root.with_name(MANIFEST), folder)
    drop_in = copy / f"etc/systemd/system/{unit}.service.d/wrong.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text(f"[Service]\nExecStart=\nExecStart=/usr/local/bin/{unit} --no-such-flag\n", encoding="utf-8")
    return copy


def running(project: Project, machines: tuple[str, ...], program: str) -> set[str]:
    """Return the versions that the processes of a program on machines say they are."""
    script = f'"/proc/$(systemctl show --property=MainPID --value {program})/exe" --version'
    return {project.on(machine, script).stdout.splitlines()[0].split()[-1].lstrip("v") for machine in machines}


@contextmanager
def loaded(project: Project, folder: Path) -> Iterator[dict[str, Any]]:
    """Load the environment during the block, as drills do. The verdict is there after the block."""
    verdict: dict[str, Any] = {}
    environment = drill_environment(project)
    verifier = VerifierProcess(environment, folder)
    try:
        verifier.await_ready()
        yield verdict
        verdict |= verifier.verdict()
    finally:
        verifier.close()
    (folder / "verdict.json").write_text(json.dumps(verdict, indent=1), encoding="utf-8")


def assert_safe(project: Project, verdict: dict[str, Any]) -> None:
    """Fail when anything acknowledged was lost, or members of an etcd cluster hold different data."""
    print(json.dumps(verdict, indent=1))
    assert verdict["safe"], verdict
    assert verdict["acknowledged"] > 0
    environment = drill_environment(project)
    for part in ("etcd", "events"):
        assert len(set(hashes(environment, environment.machines(part)).values())) == 1, part


def drill_environment(project: Project) -> DrillEnvironment:
    """Return the environment as drills reach it."""
    lab = _lab(project)
    return DrillEnvironment(lab, lab.load())


def _lab(project: Project) -> LabProject:
    return LabProject(path=project.path, env=project.env)
