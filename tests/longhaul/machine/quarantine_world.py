"""A vault, API servers, a cluster and a cloud's group that stand in for those of a quarantine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from clouds.base.control import CommandOutput
from clouds.base.errors import CloudError
from clouds.base.quarantine import Suspect
from components.model import Environment
from components.model.secrets.vault import QUARANTINE
from components.model.sites.places import place_of
from contract.documents.quarantine import Quarantine, Quarantined, format_time
from contract.documents.refusals import digest_of
from longhaul.machine.quarantine.steps import QuarantineRun
from longhaul.machine.quarantine.target import PoolMachine
from longhaul.terminal.exits import CommandError
from longhaul.vault.quarantine import QuarantineVault

SERVERS = ("lab-api-0", "lab-api-1")
NODE, HOST = "i-0123456789abcdef0", "lab-node-0"
NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
PODS = "/api/v1/pods"


class KilledError(Exception):
    """The run is killed here."""


class World:
    """A vault, API servers that know its list only when told to fetch, a cluster, and a cloud's group of two
    machines."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.vault = {QUARANTINE: Quarantine().text()}
        self.refuses: dict[str, tuple[str, ...]] = dict.fromkeys(SERVERS, ())
        self.open = set(SERVERS)
        """Servers with connections from before."""
        self.deaf: set[str] = set()
        self.nodes: dict[str, dict[str, Any]] = {name: node(name) for name in (NODE, HOST)}
        self.pods = {"work": pod("work", NODE), "other": pod("other", HOST)}
        self.keeps = True
        self.group, self.isolated, self.kept = {NODE, "i-2"}, set[str](), set[str]()
        self.steps, self.dies_at = 0, -1
        self.said: list[str] = []
        self.waits: list[float] = []
        self.taken = False
        """True while others start API servers anew."""

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise KilledError

    # The vault and the machines.

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.vault.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.step()
        self.vault[name] = value

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        self.step()
        assert timeout_s > 0
        if machine in self.deaf:
            return CommandOutput(
                stdout=json.dumps({"digest": digest_of([]), "loaded": True, "ended": False, "error": ""}), stderr=""
            )
        if "--end-connections" in script:
            assert all(set(self.listed().names) <= {*names} for names in self.refuses.values()), "before all refuse"
            self.open.discard(machine)
        else:
            self.refuses[machine] = Quarantine.parse(self.vault[QUARANTINE]).names
        digest = digest_of(self.refuses[machine])
        told = {"digest": digest, "loaded": True, "ended": machine not in self.open, "error": ""}
        return CommandOutput(stdout=json.dumps(told), stderr="")

    # The cluster.

    def find(self, path: str) -> dict[str, Any] | None:
        return self.nodes.get(path.rpartition("/")[2])

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.step()
        objects, name = self.pods if "/pods/" in path else self.nodes, path.rpartition("/")[2]
        live = objects[name]
        if "finalizers" in body["metadata"]:
            assert body["metadata"] == {"uid": f"uid of {name}", "finalizers": None}
            assert "deletionTimestamp" in live["metadata"]
            return objects.pop(name)
        assert body["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
        live["spec"] |= body["spec"]
        return live

    def items(self, path: str, *, fieldSelector: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        assert path == PODS
        name = fieldSelector.removeprefix("spec.nodeName=")
        yield from [one for one in self.pods.values() if one["spec"]["nodeName"] == name]

    def delete(self, path: str, *, uid: str, grace_s: int | None = None) -> None:
        self.step()
        objects, name = self.pods if "/pods/" in path else self.nodes, path.rpartition("/")[2]
        assert (uid, grace_s) == (f"uid of {name}", 0)
        assert self.refusing(objects[name]["spec"].get("nodeName", name))
        if objects[name]["metadata"].get("finalizers"):
            objects[name]["metadata"] |= {"deletionTimestamp": format_time(NOW), "deletionGracePeriodSeconds": 0}
        else:
            del objects[name]

    def refusing(self, name: str) -> bool:
        return all(name in names for names in self.refuses.values())

    # The cloud.

    def consequences(self) -> tuple[str, ...]:
        return ("it is cut off",)

    def isolate(self, _place: Any, suspect: Suspect) -> None:
        self.step()
        assert "taints" not in self.nodes.get(suspect.node, node("none"))["spec"] or suspect.machine in self.isolated
        self.isolated.add(suspect.machine)

    def keep(self, _place: Any, suspect: Suspect) -> tuple[str, ...]:
        self.step()
        assert self.listed().names == (suspect.node,)
        self.kept.add(f"vol of {suspect.machine}")
        return (suspect.machine, f"vol of {suspect.machine}")

    def replace(self, _place: Any, suspect: Suspect) -> None:
        self.step()
        assert self.refusing(suspect.node)
        assert suspect.machine in self.isolated
        assert self.kept or not self.keeps
        assert suspect.node not in self.nodes
        if suspect.machine in self.group:
            self.group = {*self.group - {suspect.machine}, "i-3"}

    def release(self, _place: Any, kept: tuple[str, ...]) -> None:
        self.step()
        self.kept -= set(kept)
        self.isolated -= set(kept)

    # What a test does.

    @property
    def entry(self) -> Quarantined:
        return Quarantined(
            name=NODE, site="use1", since=format_time(NOW), pool="cpu", group="lab-cpu", machine=NODE, wanted=2
        )

    def machine(self) -> PoolMachine:
        stand_in: Any = self
        suspect = Suspect(node=NODE, group="lab-cpu", machine=NODE, wanted=2)
        return PoolMachine(place=place_of(self.environment, "use1"), pool="cpu", suspect=suspect, cloud=stand_in)

    def record(self) -> QuarantineVault:
        stand_in: Any = self
        place = place_of(self.environment, self.environment.control_plane.site)
        return QuarantineVault(control=stand_in, place=place, environment=self.environment)

    def run(self, *, now: datetime = NOW, held: bool = True, keep_disk: bool = True) -> QuarantineRun:
        self.keeps = keep_disk
        stand_in: Any = self
        return QuarantineRun(
            record=self.record(),
            api=stand_in,
            tell=self.said.append,
            now=lambda: now,
            has_lease=lambda: held,
            turn=self.turn,
            pause=self.waits.append,
            keep_disk=keep_disk,
        )

    @contextmanager
    def turn(self) -> Iterator[None]:
        if self.taken:
            raise CommandError("a key is being rotated")
        yield

    def listed(self) -> Quarantine:
        return Quarantine.parse(self.vault[QUARANTINE])


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid of {name}", "resourceVersion": "7"}, "spec": {}}


def pod(name: str, on: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid of {name}"}
    return {"metadata": metadata, "spec": {"nodeName": on, "serviceAccountName": "worker", **spec}}


def refuse(*_given: Any) -> None:
    """Answer as a cloud that lets nobody."""
    raise CloudError("UnauthorizedOperation")
