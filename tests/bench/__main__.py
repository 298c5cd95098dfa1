"""``make bench``: measure previews, restores, images, the client, the autoscaler, the lab, racks, writes, the VPN, boot
to ready, and peak memory. Print each figure on a line when it is known, or with ``--json`` one object at the end.

``make bench BENCH="hosts image"`` measures those parts alone. ``BENCH=cold`` measures ``make lab`` from empty caches,
with tools compiled or downloaded anew; it is the only part that runs only when it is asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab.state import LabState
from tests.bench import client, decisions, dns, hosts, hybrid, image, previews, reaction, restore, size, vpn, writes
from tests.support.project import REPOSITORY, Project, environment, run

COLD = "cold"
WIDTH = 72
READY = "until longhaul-node ready >/dev/null 2>&1; do :; done"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="make bench", description=(__doc__ or "").split("\n\n")[0])
    parts = _parts()
    parser.add_argument("part", nargs="*", help=f"{', '.join(parts)}; without any, all but {COLD}")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if unknown := sorted({*options.part} - {*parts}):
        parser.error(f"there is no {', '.join(unknown)}: {', '.join(parts)}")
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder:
        for name in options.part or [name for name in parts if name != COLD]:
            print(f"measuring: {name}", file=sys.stderr, flush=True)
            for figure, value in parts[name](Path(folder)):
                measured[figure] = value
                if not options.json:
                    print(f"{figure:<{WIDTH}}  {value:10.1f}", flush=True)
    if options.json:
        print(json.dumps(measured))
    return 0


def _parts() -> dict[str, Callable[[Path], Iterable[tuple[str, float]]]]:
    return {
        "previews": previews.measure,
        "client": client.measure,
        "decisions": decisions.measure,
        "autoscaler": reaction.measure,
        "size": size.measure,
        "dns": dns.measure,
        "image": lambda folder: image.measure(folder).items(),
        "lab": lambda folder: _lab(folder).items(),
        "hybrid": lambda folder: hybrid.measure(folder).items(),
        "hosts": hosts.measure,
        "writes": writes.measure,
        "restore": restore.measure,
        "vpn": vpn.measure,
        COLD: lambda folder: _cold(folder).items(),
    }


def _lab(folder: Path) -> dict[str, float]:
    """Measure the lab with cached tools and image, then with nothing to do, and one machine from power to ready."""
    project = Project.make(folder / "lab", environment("bench", supernet="10.128.0.0/12"))
    try:
        measured = {
            "control plane alone, cached tools, s": _seconds(project.up),
            "control plane alone, all in place, s": _seconds(project.up),
        }
        project.lab("power", "bench-etcd-0", "reset")
        measured["machine from power to ready, s"] = _seconds(lambda: project.on("bench-etcd-0", READY))
        measured["lab's peak memory, MiB"] = _peak_bytes(project) / 2**20
        measured["make lab-down, s"] = _seconds(lambda: project.lab("down", "--all"))
    finally:
        project.lab("down", "--all", check=False)
    return measured


def _cold(folder: Path) -> dict[str, float]:
    """Measure ``make lab`` with nothing cached: neither tools, nor modules, nor compiled packages, nor image."""
    project = Project.make(folder / "cold", environment("cold", supernet="10.144.0.0/12"))
    caches = {"LONGHAUL_CACHE": "tools", "GOMODCACHE": "modules", "GOCACHE": "compiled"}
    with _variables({name: str(folder / "caches" / part) for name, part in caches.items()}):
        try:
            return {"make lab, empty caches, s": _seconds(project.up)}
        finally:
            project.lab("down", "--all", check=False)
            run(["chmod", "-R", "u+w", str(folder / "caches")], check=False)
            shutil.rmtree(folder / "caches", ignore_errors=True)


def _seconds(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def _peak_bytes(project: Project) -> float:
    """Return the peak memory of everything in the lab's cgroups, page cache included, as the kernel records it (v1 or
    v2)."""
    name = LabState.of(project.env, root=project.path / ".lab").unique_name
    for path in (
        f"/sys/fs/cgroup/memory/{name}/memory.max_usage_in_bytes",
        f"/sys/fs/cgroup/{name}/memory.peak",
    ):
        if Path(path).exists():
            return float(Path(path).read_text())
    return float("nan")


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    sys.exit(main())
