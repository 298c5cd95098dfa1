"""Benchmarks of previews, from one site to six sites, 30 pools and 7,500 hosts: resources, time and memory, by part."""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from longhaul.engine.location import engine_environment
from tests.bench import watched
from tests.longhaul.show import large
from tests.support.hosts import hosts_file, production_with
from tests.support.project import REPOSITORY, Project, environment, hybrid

HOSTS = (40, 750, 7500)
REPEATS = 3
MIB = 2**20

IMPORTS = """
import atexit, gc
gc.disable(), atexit.register(gc.freeze)
import pulumi, pulumi.dynamic, components.environment.cluster, components.control_plane.guard
from pulumi_azure_native import authorization, compute, keyvault, managedidentity, network, privatedns, resources
from pulumi_aws import autoscaling, ec2, iam, vpc
used = (authorization.RoleAssignment, compute.VirtualMachine, keyvault.Vault, managedidentity.UserAssignedIdentity)
used += (network.VirtualNetwork, privatedns.PrivateZone, resources.ResourceGroup)
used += (autoscaling.Group, ec2.Vpc, iam.Role, vpc.SecurityGroupIngressRule)
"""
"""Imports of the program for an environment with both clouds: the SDK's packages load at their first use. Python's
garbage collector is off, as in the program."""

Figures = dict[str, float]


def measure(folder: Path, *, repeats: int = REPEATS) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    for size, figures in sizes(folder, repeats=repeats):
        for name, value in figures.items():
            yield f"preview, {size}, {name}", value
    yield "preview, the program's imports, CPU s", _imports(folder, repeats=repeats)


def sizes(folder: Path, *, repeats: int) -> Iterator[tuple[str, Figures]]:
    """Yield the figures by size: the medians of the runs, memory's included."""
    made: dict[str, Callable[[Path], Project]] = {
        "1 site, no pool": lambda path: Project.make(path, environment("tiny", supernet="10.128.0.0/12")),
        "3 sites, 1 pool, 1 host": lambda path: Project.make(path, hybrid("small", supernet="10.128.0.0/12")),
        "prod": lambda path: _production(path, 40),
        **{f"6 sites, 30 pools, {count} hosts": partial(_large, hosts=count) for count in HOSTS},
    }
    for index, (size, make) in enumerate(made.items()):
        project = make(folder / f"size-{index}")
        runs = [_preview(project) for _ in range(repeats)]
        middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        yield size, middle


def _production(path: Path, hosts: int) -> Project:
    project = Project.empty(path, env="prod")
    production_with(hosts, directory=project.stack_file.parent)
    return project


def _large(path: Path, hosts: int) -> Project:
    project = Project.empty(path, env="large")
    large.write_large(project.stack_file.parent)
    (project.stack_file.parent / "hosts.large.yaml").write_text(hosts_file(hosts), encoding="utf-8")
    return project


def _preview(project: Project) -> Figures:
    words = [str(Path(sys.executable).with_name("longhaul")), "plan", "--raw", "--format", "json"]
    words += ["--project", str(project.path), "--env", project.env]
    run = watched.watch(words, cwd=REPOSITORY, environ=_environment())
    return {
        "resources": float(json.loads(run.stdout)["resources"]),
        "s": run.wall_s,
        "CPU s": run.cpu_s,
        **{f"CPU s, {part}": seconds for part, seconds in run.parts_s.items()},
        "peak memory, MiB": run.peak / MIB,
        "program's processes": float(run.programs),
    }


def _imports(folder: Path, *, repeats: int) -> float:
    environ = engine_environment({**_environment(), "PYTHONPATH": str(REPOSITORY)})
    return statistics.median(watched.imports_cpu_s(IMPORTS, cwd=folder, environ=environ) for _ in range(repeats))


def _environment() -> Mapping[str, str]:
    """Return the caller's variables without those that would lead a preview to the user's own state."""
    dropped = ("PULUMI_", "AZURE_", "ARM_", "LONGHAUL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
