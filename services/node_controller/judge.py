"""Decision on certificate requests. A request is granted only to a machine that exists, and only for a name that no
other live node has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from clouds.base.machine_lists import ListedMachine, Presence
from contract.certificate_requests import Attested, RefusedError, Request
from contract.documents.node_controller import NodeEnvironment
from contract.users import CLIENT_SIGNER, NODE_USER, NODES_GROUP, SERVING_SIGNER
from services.node_controller.inventory import Inventory

SETTLE_S = 15.0
"""Time in seconds after the first sight of a request. Only a query that begins after this time proves that a machine
does not exist, because the clouds' lists lag a little (docs.aws.amazon.com, "Eventual consistency in the Amazon EC2
API")."""

LOOK_AGAIN_S = 1.0
"""Seconds between two checks of a waiting request. The request is also checked after every listing or query."""


class WaitError(Exception):
    """Raised if a request cannot be decided yet. The text says what is missing."""


class LiveNodes(Protocol):
    """Nodes that exist already, by the API."""

    def live(self, node: str) -> bool:
        """Return whether a Node of this name is live, which means that it is ready or renews its lease."""

    def member(self, node: str) -> bool:
        """Return whether there is a Node of this name whose kubelet may still hold a valid certificate."""


class TakenNames(Protocol):
    """Names that were granted a short time ago."""

    def rival(self, request: Request) -> bool:
        """Return whether another key was granted the request's name a short time ago, and no Node of the name exists
        yet."""


class Judge:
    """Judge of requests."""

    def __init__(
        self,
        environment: NodeEnvironment,
        inventories: Iterable[Inventory],
        *,
        nodes: LiveNodes,
        names: TakenNames,
        clock: Callable[[], float],
        quarantined: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """``quarantined`` returns the names of the machines that are in quarantine."""
        self._environment, self._nodes, self._names, self._clock = environment, nodes, names, clock
        self._quarantined = quarantined
        self._inventories = {inventory.site: inventory for inventory in inventories}

    def check(self, request: Request, *, seen_at: float) -> None:
        """Return if the request is to be granted. Raise ``RefusedError`` if the request must be refused, and
        ``WaitError`` if it cannot be decided yet. ``seen_at`` is the time at which the request was first seen."""
        if request.node in self._quarantined():
            raise RefusedError("Quarantined", f"{request.node} is in quarantine")
        if request.attested is not None:
            self._check_attested(request, request.attested, seen_at=seen_at)
        elif request.token:
            self._check_joining(request, seen_at=seen_at)
        elif request.user == f"{NODE_USER}{request.node}" and NODES_GROUP in request.groups:
            self._check_machine(request, self._everywhere(request, seen_at=seen_at))
        else:
            raise RefusedError(
                "NotAllowed",
                f"{request.user} may not ask for a certificate of {NODE_USER}{request.node}: only that node may",
            )
        if request.signer == SERVING_SIGNER:
            _check_names(request, self._everywhere(request, seen_at=seen_at))

    def _check_attested(self, request: Request, proved: Attested, *, seen_at: float) -> None:
        """Check a request of the join endpoint, which must be for a client certificate and for the machine that has
        proved its identity."""
        if request.signer != CLIENT_SIGNER:
            raise RefusedError("NotAllowed", "the join service may ask only for client certificates")
        inventory = self._inventories.get(proved.site)
        if inventory is None:
            raise RefusedError("UnknownMachine", f"site {proved.site} has no machines that may join")
        machine = self._look([inventory], request.node, seen_at=seen_at)
        if not proved.machine or machine.identity != proved.machine:
            raise RefusedError(
                "WrongMachine", f"{request.node} is machine {machine.identity}, but machine {proved.machine} asked"
            )
        self._check_machine(request, machine)
        self._check_free(request)
        if self._nodes.member(request.node):
            raise RefusedError(
                "NameIsTaken",
                f"node {request.node} has joined before and may still hold its certificate: "
                "if its machine was made anew, delete the Node",
            )

    def _check_free(self, request: Request) -> None:
        """Check that no live node has the name, and that no other key was granted the name a short time ago."""
        if self._nodes.live(request.node):
            raise RefusedError("NameIsLive", f"a live node already has the name {request.node}")
        if self._names.rival(request):
            raise RefusedError("NameIsTaken", f"another key was given the name {request.node} a moment ago")

    def _check_joining(self, request: Request, *, seen_at: float) -> None:
        """Check a request with a bootstrap token, which must be for a client certificate and for the token's host."""
        if request.signer != CLIENT_SIGNER:
            raise RefusedError("NotAllowed", "a bootstrap token allows only a client certificate")
        if not request.host:
            raise RefusedError("UnknownToken", f"token {request.token} belongs to no host of this environment")
        if request.host != request.node:
            raise RefusedError("WrongName", f"token {request.token} belongs to {request.host}, not to {request.node}")
        host = self._environment.hosts.get(request.host)
        inventory = self._inventories.get(host.site) if host else None
        if inventory is None:
            raise RefusedError("UnknownMachine", f"{request.host} is no host of the environment")
        self._check_machine(request, self._look([inventory], request.node, seen_at=seen_at))
        self._check_free(request)

    def _everywhere(self, request: Request, *, seen_at: float) -> ListedMachine:
        """Return the machine from any site's inventory."""
        return self._look(list(self._inventories.values()), request.node, seen_at=seen_at)

    def _look(self, inventories: list[Inventory], name: str, *, seen_at: float) -> ListedMachine:
        for inventory in inventories:
            machine = inventory.machine(name)
            if machine is not None:
                return machine
        waiting = [each for each in inventories if each.absent_since(name) < seen_at + SETTLE_S]
        if not waiting:
            sites = ", ".join(each.site for each in inventories) or "no site"
            raise RefusedError("UnknownMachine", f"there is no machine {name} in {sites}")
        # A query before that time cannot prove absence, but a first one at once may find the machine.
        asked = [each for each in waiting if each.absent_since(name) < seen_at or self._clock() >= seen_at + SETTLE_S]
        for inventory in asked:
            inventory.want(name)
        failures = "; ".join(f"{each.site}: {each.failure}" for each in waiting if each.failure)
        raise WaitError(failures or f"{name} is in no list yet")

    def _check_machine(self, request: Request, machine: ListedMachine) -> None:
        if machine.presence is not Presence.THERE:
            raise RefusedError("UnknownMachine", f"machine {request.node} is ending, or has ended")


def _check_names(request: Request, machine: ListedMachine) -> None:
    """Check the names of a serving certificate: only the node's name and addresses of its machine, of which at least
    one is required."""
    foreign = sorted(request.dns_names - {request.node})
    if foreign:
        raise RefusedError("ForeignName", f"{', '.join(foreign)} is not a name of {request.node}")
    if not machine.addresses:
        raise WaitError(f"{request.node} has no address yet in the list of {machine.site}")
    foreign = sorted(request.addresses - machine.addresses)
    if foreign:
        addresses = ", ".join(sorted(machine.addresses))
        raise RefusedError(
            "ForeignAddress", f"{', '.join(foreign)} is not an address of {request.node}, which has {addresses}"
        )
    if not request.addresses:
        raise RefusedError("WrongSubject", "a server's certificate needs one of the node's addresses")
