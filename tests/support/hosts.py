"""Production with as many hosts as a test or a benchmark wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

STACKS = Path(__file__).parents[2] / "stacks"
EXAMPLES = STACKS.with_name("examples")


def stack_file(name: str) -> Path:
    """Return the file of an environment that comes with the checkout: one of the lab, or an example."""
    path = STACKS / f"Pulumi.{name}.yaml"
    return path if path.is_file() else EXAMPLES / path.name


HEADER = """\
# The racks of production, as an example. The order gives each host its addresses: append, and leave the entry of a host
# that is gone in its place. `host_key` is pinned before Ansible comes; docs/hosts.md.
hosts:
"""

GPUS = 8
"""GPUs in each example host."""


def lines(count: int, *, site: str) -> Iterator[str]:
    """Yield one line for each host."""
    width = max(2, len(str(count - 1)))
    for index in range(count):
        yield f"  - {{name: gpu-{index:0{width}}, site: {site}, gpus: {GPUS}}}\n"


def hosts_file(count: int, *, site: str = "colo") -> str:
    """Return the text of a hosts file with ``count`` hosts."""
    return HEADER + "".join(lines(count, site=site)) if count else "hosts: []\n"


def production_with(count: int, *, directory: Path) -> Path:
    """Write production's stack file and a hosts file of ``count`` hosts into ``directory``; return the stack file."""
    stack = directory / "Pulumi.prod.yaml"
    stack.write_text((EXAMPLES / stack.name).read_text(encoding="utf-8"), encoding="utf-8")
    (directory / "hosts.prod.yaml").write_text(hosts_file(count), encoding="utf-8")
    return stack
