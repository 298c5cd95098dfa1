"""Scenarios that :mod:`tests.lab.providers.test_azure_engine` runs in namespaces of its own: ``python -m
tests.lab.providers.scenarios NAME FOLDER``.

The namespace has its own host names, network and processes: the clouds' real names lead to a live cloud on loopback,
and no started process survives.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from components.control_plane.guard import DESTROY_VARIABLE
from lab import tools
from lab.cloud.azure.policy import GOVERNED, Assignments
from lab.cloud.delays import Delays
from lab.desired import MachineState
from tests.lab.cloud.conftest import SUBSCRIPTION, Live
from tests.lab.cloud.test_policy import govern
from tests.support.engine import QUICK_PIP, engine_home, printed

NAMES = ("management.azure.com", "login.microsoftonline.com", "lh-lab-vault.vault.azure.net")
ROOT = Path(__file__).parents[3]
IDENTITIES = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
)
VM = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab/providers/Microsoft.Compute/virtualMachines/m0"


MAIN = """\
from components.environment.lean_sdk import forget_versions, lean, wait_once

with lean():
    forget_versions()
    import declared
    wait_once()
"""
"""Main program, which does with the module of what is declared as production's does."""


class Engine:
    """The real engine with the stand-in plugins, on a program of its own."""

    program = "program"

    def __init__(self, folder: Path, live: Live) -> None:
        self.live = live
        self.folder = folder / "program"
        shutil.copytree(Path(__file__).parent / self.program, self.folder)
        (self.folder / "__main__.py").write_text(MAIN, encoding="utf-8")
        plugins = ROOT / "lab" / "providers" / "bin"
        path = f"{Path(sys.executable).parent}:{plugins}:{tools.bin_dir()}:{os.environ['PATH']}"
        self.environment = {
            **os.environ,
            **live.cloud.operator_environment(),
            "PATH": path,
            # Without sidecars, which a killed engine may leave empty (`longhaul.engine.backend.half_written`).
            "PYTHONPATH": QUICK_PIP,
            "PULUMI_BACKEND_URL": f"file://{folder}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE": "x",
            **engine_home(folder),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        self.run("stack", "init", "t")

    def run(self, *words: str, fails: bool = False) -> str:
        return printed(["pulumi", *words], cwd=self.folder, environ=self.environment, fails=fails)

    def up(self, *words: str, fails: bool = False) -> str:
        return self.run("up", "--yes", "--skip-preview", *words, fails=fails)

    def set(self, key: str, value: str) -> None:
        """Set a value as `pulumi config set` does, which takes most of a second of processor."""
        path = self.folder / "Pulumi.t.yaml"
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        content.setdefault("config", {})[f"probe:{key}"] = value
        path.write_text(yaml.safe_dump(content), encoding="utf-8")

    def state(self) -> str:
        """Return the state as the backend has it."""
        (path,) = (self.folder.parent / ".pulumi" / "stacks").rglob("t.json")
        return path.read_text(encoding="utf-8")

    def generations(self) -> list[str]:
        return [machine.generation for machine in self.live.hypervisor.world.machines]


def life(engine: Engine) -> None:
    """Preview, make, find unchanged, refresh, change in place, be refused, replace, destroy."""
    before = engine.live.cloud.store.revision
    preview = engine.run("preview")
    assert "31 to create" in preview
    assert engine.live.cloud.store.revision == before, "a preview must not change anything"
    outputs = engine.up()
    assert re.search(r"198\.51\.100\.6[5-7]", outputs), "one of three addresses that are made at once"
    assert "https://lh-lab-vault.vault.azure.net/" in outputs
    engine.run("preview", "--expect-no-changes")
    engine.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    assert "b25l" not in engine.state(), "a secret input must not be readable in the state"
    assert "correct_horse" not in engine.state()
    assert [tunnel.key for tunnel in engine.live.hypervisor.world.gateways[0].tunnels] == ["correct_horse"] * 2
    assert len(engine.live.hypervisor.world.peerings) == 1
    engine.set("port", "7443")
    assert "1 updated" in engine.up()
    first = engine.generations()
    engine.set("data", "two")
    refused = engine.up(fails=True)
    assert "PropertyChangeNotAllowed" in refused
    assert "replace_on_changes" in refused
    assert engine.generations() == first
    engine.set("replace", "true")
    assert "cannot create already existing resource" in engine.up(fails=True), "the replacement has the same name"
    assert engine.generations() == first
    engine.set("delete-first", "true")
    replaced = engine.up()
    assert "1 replaced" in replaced
    assert replaced.index("deleted original") < replaced.index("creating replacement")
    assert engine.generations() != first
    kept = engine.run("destroy", "--yes", "--skip-preview", "--target", "**retention", fails=True)
    assert "daily keeps its backups for 90 days, and its retention stays as it is" in kept
    engine.environment[DESTROY_VARIABLE] = "probe"
    assert "31 deleted" in engine.run("destroy", "--yes", "--skip-preview")
    assert engine.live.arm("GET", f"/subscriptions/{SUBSCRIPTION}/resourcegroups").json()["value"] == []
    assert "ConflictError" in engine.up(fails=True), "a deleted vault keeps its name, as in Azure"


def killed(engine: Engine) -> None:
    """Kill an engine in the middle of a creation: its plugins end with it, and the next run adopts what exists."""
    kill_while_made(engine, VM)
    made = engine.live.arm("GET", VM).json()["properties"]["vmId"]
    locked = engine.up(fails=True)
    assert "the stack is currently locked" in locked, locked
    engine.run("cancel", "--yes")
    refused = engine.environment | {"LAB_AZURE_CREATE": "refuse"}
    engine.environment, kept = refused, engine.environment
    assert "cannot create already existing resource" in engine.up(fails=True)
    engine.environment = kept
    assert "is adopted" in engine.up()
    assert engine.live.arm("GET", VM).json()["properties"]["vmId"] == made
    engine.run("preview", "--expect-no-changes")


def kill_while_made(engine: Engine, resource: str) -> None:
    """Kill an engine while a resource with machines is made, whose operation goes on, and return when no plugin is
    left."""
    engine.live.hypervisor.hold = asyncio.Event()
    up = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview"],
        cwd=engine.folder,
        env=engine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _until(lambda: engine.live.arm("GET", resource).status_code == 200)
    up.kill()
    up.wait()
    _until(lambda: not _plugins())
    assert engine.live.arm("GET", resource).json()["properties"]["provisioningState"] == "Creating"
    engine.live._loop.call_soon_threadsafe(engine.live.hypervisor.hold.set)


def broken(engine: Engine) -> None:
    """Check that a machine that fails to start is recorded in the state, and that the next run repairs it."""
    engine.live.hypervisor.phases["m0"] = MachineState(phase="failed", reason="cloud-init: bad user data")
    assert "cloud-init: bad user data" in engine.up(fails=True)
    assert VM in engine.state()
    engine.live.hypervisor.phases.clear()
    engine.up()
    engine.run("preview", "--expect-no-changes")


def drift(engine: Engine) -> None:
    """Check that a refresh finds changed and vanished resources, and that they are restored."""
    engine.up()
    engine.live.wait(engine.live.arm("DELETE", VM))
    nsg = VM.partition("/providers/")[0] + "/providers/Microsoft.Network/networkSecurityGroups/rules"
    body = engine.live.arm("GET", nsg).json()
    body["properties"]["securityRules"][0]["properties"]["priority"] = 200
    engine.live.put(nsg, body)
    seen = engine.up("--refresh")
    assert "1 created" in seen
    assert "1 updated" in seen
    assert engine.live.arm("GET", nsg).json()["properties"]["securityRules"][0]["properties"]["priority"] == 100


def imported(engine: Engine) -> None:
    """Recover as with the real plugin: an existing resource is imported by its id, and then nothing remains to be
    done."""
    engine.up()
    document = json.loads(engine.run("stack", "export"))
    kept = [one for one in document["deployment"]["resources"] if not one["urn"].endswith("::machine")]
    (lost,) = [one for one in document["deployment"]["resources"] if one["urn"].endswith("::machine")]
    document["deployment"]["resources"] = kept
    document["deployment"]["pending_operations"] = [{"resource": {**lost, "id": ""}, "type": "creating"}]
    path = engine.folder / "state.json"
    path.write_text(json.dumps(document))
    engine.run("stack", "import", "--file", str(path))
    urn = lost["urn"]
    engine.run("refresh", "--yes", "--skip-preview", "--import-pending-creates", urn, "--import-pending-creates", VM)
    assert VM in engine.state()


def governed(engine: Engine) -> None:
    """In a governed subscription, check that what policies add to a resource that is written is no change to a preview,
    and that what they add later stays: an identity where the program ignores it, tags because they are added again."""
    govern(engine.live, GOVERNED)
    engine.up()
    engine.run("preview", "--refresh", "--expect-no-changes")
    company = f"{IDENTITIES}/company"
    engine.live.put(company, {"location": "westeurope"})
    later = Assignments(tags={**GOVERNED.tags, "owner": "it"}, system_identity=True, user_identity=company)
    govern(engine.live, later, remediate=True)
    seen = engine.run("preview", "--refresh", "--diff")
    assert "userAssignedIdentities" in seen
    assert "owner" in seen
    engine.set("ignore-identity", "true")
    engine.up("--refresh")
    found = engine.live.arm("GET", VM).json()
    assert found["tags"] == {"own": "one", **later.tags}
    assert found["identity"]["type"] == "SystemAssigned, UserAssigned"
    assert set(found["identity"]["userAssignedIdentities"]) == {company, f"{IDENTITIES}/m0"}
    engine.run("preview", "--refresh", "--expect-no-changes")


def zones(engine: Engine) -> None:
    """Check that Azure refuses to move addresses into other zones, and that a program that keeps theirs goes on, after
    a refresh too."""
    engine.up()
    engine.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    engine.set("zones", "1")
    assert "ResourceAvailabilityZonesCannotBeModified" in engine.up(fails=True)
    engine.set("keep-zones", "true")
    engine.run("preview", "--expect-no-changes")
    engine.set("port", "7443")
    assert "1 updated" in engine.up("--refresh")


def unknown(engine: Engine) -> None:
    """Check that a type that the lab's cloud lacks can be previewed, and is refused by name when it should be made."""
    engine.set("routes", "true")
    assert "RouteTable" in engine.run("preview")
    assert "the lab's Azure does not have azure-native:network:RouteTable" in engine.up(fails=True)


def _plugins() -> bool:
    return any(b"lab.providers.a" in _content(folder / "cmdline") for folder in Path("/proc").glob("[0-9]*"))


def _content(path: Path) -> bytes:
    """Return the file's content; empty for a process that has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _until(condition: Callable[[], bool]) -> None:
    """Look again until the condition is true, for at most five minutes: plugins and store announce nothing here."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


SCENARIOS: dict[str, Callable[[Engine], Any]] = {
    scenario.__name__: scenario for scenario in (life, killed, broken, drift, imported, zones, governed, unknown)
}


@contextmanager
def clouds(
    folder: Path, names: Iterable[str], *, regions: tuple[str, ...] = (), delays: Delays | None = None
) -> Iterator[Live]:
    """Run the lab's clouds at their real ``names`` and port, in namespaces without other processes."""
    file = folder / "hosts"
    file.write_text(f"127.0.0.1 localhost {' '.join(names)}\n")
    subprocess.run(["mount", "--bind", str(file), "/etc/hosts"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    live = Live(folder / "cloud", port=443, regions=regions, delays=delays)
    try:
        yield live
    finally:
        live.stop()


def main(name: str, folder: Path) -> None:
    with clouds(folder, NAMES) as live:
        os.environ["REQUESTS_CA_BUNDLE"] = live.cloud.operator_environment()["REQUESTS_CA_BUNDLE"]
        SCENARIOS[name](Engine(folder, live))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
