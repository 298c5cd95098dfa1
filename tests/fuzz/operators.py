"""Readers that run where an operator or CI runs: files of a pull request, depots, verdicts of Ansible."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.fuzz.target import REPOSITORY, Target

STACK, HOSTS = "Pulumi.lab.yaml", "hosts.lab.yaml"
SUM = "0" * 64


def _file(name: str) -> bytes:
    return (REPOSITORY / "stacks" / name).read_bytes()


def _plain(name: str) -> Any:
    import yaml

    return yaml.safe_load(_file(name))


def environment(folder: Path) -> Target:
    """Read an environment's file."""
    return _stacks(folder, STACK)


def hosts(folder: Path) -> Target:
    """Read a hosts file."""
    return _stacks(folder, HOSTS)


def _stacks(folder: Path, changed: str) -> Target:
    from components.model import load
    from components.model.loading.errors import ConfigurationError

    for name in (STACK, HOSTS):
        (folder / name).write_bytes(_file(name))

    def read(data: bytes) -> None:
        (folder / changed).write_bytes(data)
        with suppress(ConfigurationError):
            load(folder / STACK)

    return Target(read, (_plain(changed),))


def depot_manifest(folder: Path) -> Target:
    """Read a depot's description of its files."""
    return _depot(folder, "depot.json", {"format": 1, "files": {"binaries/SHA256SUMS": {"sha256": SUM, "size": 4}}})


def depot_sums(folder: Path) -> Target:
    """Read a depot's checksums."""
    return _depot(folder, "SHA256SUMS", f"{SUM}  depot.json\n{SUM}  binaries/SHA256SUMS\n".encode())


def depot_packages(folder: Path) -> Target:
    """Read an index of Debian's packages in a depot."""
    index = "debian/dists/bookworm/main/binary-amd64/Packages"
    stanza = f"Package: a\nFilename: ./pool/a.deb\nSize: 4\nSHA256: {SUM}\n\n".encode()
    return _depot(folder, index, stanza * 3, known=index)


def _depot(folder: Path, changed: str, seed: Any, *, known: str = "depot.json") -> Target:
    from longhaul.artifacts.manifest import verify
    from longhaul.toolchain.errors import SetupError

    path = folder / changed
    for name in (changed, "binaries/SHA256SUMS"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")
    (folder / "SHA256SUMS").write_text(f"{SUM}  {known}\n")

    def read(data: bytes) -> None:
        path.write_bytes(data)
        with suppress(SetupError):
            verify(folder)

    return Target(read, (seed,))


def verdicts(folder: Path) -> Target:
    """Read what became of each host, as Ansible's callback wrote it."""
    from components.model import load, plan
    from longhaul.racks.inventory import machines
    from longhaul.racks.verdicts import HostResults, read

    environment = load(REPOSITORY / "stacks" / STACK)
    hosts = list(machines(environment, plan(environment)))
    path = folder / "verdicts.json"
    failed = {"task": "Wait", "role": "node", "messages": ["it did not"]}
    host = {"state": "ok", "changed": 1, "seconds": 2.5, "failed": None, "held": []}
    states = [host, {**host, "state": "failed", "failed": failed}, {**host, "state": "held", "held": ["pods"]}]
    seed = {
        "finished": True,
        "seconds": 3.5,
        "failed": failed,
        "hosts": {one.name: state for one, state in zip(hosts, states * len(hosts), strict=False)},
        "tasks": {"node: Wait": {"hosts": 1, "seconds": 2.0, "slowest": 2.0}},
    }

    def account(data: bytes) -> None:
        path.write_bytes(data)
        found = HostResults()
        found.add(read(path), hosts, code=2)
        found.exit_code()

    return Target(account, (seed,))
