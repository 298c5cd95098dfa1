"""Production with as many hosts as a test or a benchmark wants."""

from __future__ import annotations

import base64
import hashlib
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
# that is gone in its place. Nobody has the private halves of the keys: `longhaul hosts scan-keys` pins those of yours.
hosts:
"""

GPUS = 8
"""GPUs in each example host."""


def host_key(name: str) -> str:
    """Return an example of an SSH host key: a digest of the name, to which nobody knows the private half (RFC 8709)."""
    parts = (b"ssh-ed25519", hashlib.sha256(f"example {name}".encode()).digest())
    wire = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"ssh-ed25519 {base64.b64encode(wire).decode()}"


def lines(count: int, *, site: str) -> Iterator[str]:
    """Yield one line for each host."""
    width = max(2, len(str(count - 1)))
    for index in range(count):
        name = f"gpu-{index:0{width}}"
        yield f"  - {{name: {name}, site: {site}, gpus: {GPUS}, host_key: {host_key(name)}}}\n"


def hosts_file(count: int, *, site: str = "colo") -> str:
    """Return the text of a hosts file with ``count`` hosts."""
    return HEADER + "".join(lines(count, site=site)) if count else "hosts: []\n"


def production_with(count: int, *, directory: Path) -> Path:
    """Write production's stack file and a hosts file of ``count`` hosts into ``directory``; return the stack file."""
    stack = directory / "Pulumi.prod.yaml"
    stack.write_text((EXAMPLES / stack.name).read_text(encoding="utf-8"), encoding="utf-8")
    (directory / "hosts.prod.yaml").write_text(hosts_file(count), encoding="utf-8")
    return stack
