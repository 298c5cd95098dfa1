"""Ends of tunnels between sites, as rotations of their keys change them: clouds by the engine, racks by Ansible."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clouds.base.kinds import Kind, without_version
from clouds.registry import clouds
from components.model import plan
from components.model.tunnel_keys import READ_VARIABLE, TUNNELS
from longhaul.context import Context
from longhaul.engine import plugins
from longhaul.engine.change import change_with_pending, exit_code
from longhaul.engine.engine import Engine, engine_for
from longhaul.engine.recovery import recover
from longhaul.exits import CommandError, Exit
from longhaul.hosts.inventory import GATEWAYS, machines
from longhaul.hosts.rolling import RunOptions, roll
from longhaul.hosts.text import to_text
from longhaul.output import Output
from longhaul.plan.places import TUNNEL_KEY
from longhaul.progress import Progress
from longhaul.rotation.tunnels import Tunnel

if TYPE_CHECKING:
    from components.model import Environment

TARGETED = ("--yes", "--skip-preview", "--suppress-outputs")
"""The engine's options for a run that changes named resources alone."""

AGAIN = "Run this again: it goes on from here"


def tunnels_in(deployment: Mapping[str, Any]) -> tuple[Tunnel, ...]:
    """Return the tunnels in a state. Parts of a tunnel that get a key depend on its resource, or on a part that does.
    ``ValueError`` when the keys of one are not known yet."""
    resources = [one for one in deployment.get("resources") or () if not one.get("delete")]
    keys = [one for one in resources if one["type"] == TUNNEL_KEY]
    kinds = {token: kind for cloud in clouds().values() for token, kind in cloud.resources.kinds().items()}
    ends = [one for one in resources if kinds.get(without_version(one["type"])) is Kind.TUNNEL]
    users = {key["urn"]: tuple(_depending(ends, key["urn"])) for key in keys}
    known = {urn for found in users.values() for urn in found}
    carrying = [one["urn"] for one in ends if _has_key(one) and one["urn"] not in known]
    if carrying:
        names = ", ".join(urn.rpartition("::")[2] for urn in carrying)
        raise ValueError(f"the keys of {names} are not known yet")
    return tuple(
        Tunnel(
            secret=str(key["inputs"]["secret"]),
            resource=key["urn"],
            users=users[key["urn"]],
            of_cloud=bool(key["inputs"].get("of_cloud")),
        )
        for key in keys
    )


def _depending(ends: Iterable[Mapping[str, Any]], urn: str) -> list[str]:
    """Return the parts of tunnels that depend on a resource, in the state's order: each comes after what it depends
    on."""
    found = [urn]
    for one in ends:
        if set(found) & set(one.get("dependencies") or ()):
            found.append(one["urn"])
    return found[1:]


def _has_key(resource: Mapping[str, Any]) -> bool:
    """Return whether a part of a tunnel has a key, as a connection has and the address of its other end has not."""
    held = {**(resource.get("inputs") or {}), **(resource.get("outputs") or {})}
    return any(name.lower().endswith(("sharedkey", "shared_key")) for name in held)


@dataclass(frozen=True, kw_only=True)
class StackEnds:
    """The ends in an environment's stack, as ``tunnels.Ends``."""

    where: Context
    environment: Environment
    environ: Mapping[str, str]
    log: Path
    """The run's log, which has all that the programs print."""
    began: float
    """Start of the run, by ``time.monotonic``."""

    def tunnels(self) -> tuple[Tunnel, ...]:
        """Return the tunnels of the state."""
        engine = self._engine()
        text = engine.must("stack", "export", doing=f"the state of {engine.stack} cannot be read")
        try:
            return tunnels_in(json.loads(text).get("deployment") or {})
        except ValueError as error:
            raise CommandError(f"{error}: `longhaul up --env {self.where.env}` makes them known") from None

    def apply(self, resources: Iterable[str]) -> None:
        """Run the engine on some resources, with the keys that the vault has now."""
        engine = self._engine()
        plugins.require(plugins.needed(self.environment), engine.environ)
        recover(engine)
        targets = [word for urn in resources for word in ("--target", urn)]
        ran = change_with_pending(engine, "up", [*TARGETED, *targets])
        if ran.code != 0:
            said = "; ".join(error.message for error in ran.events.errors) or f"it ended with {ran.code}"
            raise CommandError(
                f"keys of tunnels could not be changed: {said}. {AGAIN}; {self.log}", code=exit_code(ran)
            )

    def settle_gateways(self) -> None:
        """Run Ansible on the gateways of racks, whose role waits for a tunnel to each site."""
        there = [one for one in machines(self.environment, plan(self.environment)) if one.group == GATEWAYS]
        if not there:
            return
        with self.log.open("ab") as log:
            asked = RunOptions(words=[], look=False, budget=0, stdout=log)
            account = roll(self.where, self.environment, [there], asked, self.environ, limited=True)
        if account.exit_code() is not Exit.OK:
            text = to_text(self.where.env, "run", account, colour=False)
            said = f"not all gateways have their keys and tunnels\n{text}\n{AGAIN}; {self.log}"
            raise CommandError(said, code=account.exit_code())

    def _engine(self) -> Engine:
        progress = Progress(title=TUNNELS, output=Output(log=self.log), began=self.began)
        return engine_for(self.where, {**self.environ, READ_VARIABLE: "yes"}, progress=progress)
