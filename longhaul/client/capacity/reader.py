"""Reads capacity from a cluster: one list for each kind of object. Lists that the person may not read are left out and
named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from contract.documents import autoscaler_memory
from contract.documents.autoscaler_memory import DecisionMemory
from contract.documents.pools import of_text
from contract.kubernetes.api import ApiReader, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.paths import NAMESPACES, NODES, PODS
from contract.labels import HELD_LABEL
from contract.object_names import AUTOSCALER, CAPACITY_CONFIGMAP, CAPACITY_KEY, MEMORY_KEY, SYSTEM_CONFIGMAPS
from longhaul.client.capacity.pools import pools
from longhaul.client.capacity.queues import refusal_of, team
from longhaul.client.capacity.state import ClusterCapacity, TeamCapacity
from longhaul.client.capacity.waiting_jobs import is_waiting

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
Content = TypeVar("Content")

GOING_ON = "status.phase!=Succeeded,status.phase!=Failed"
NO_TEAMS = "teams: this environment has none: `teams` in its file declares them (docs/teams.md)"


class CapacityReader:
    """Reads a cluster's capacity once."""

    def __init__(self, api: ApiReader) -> None:
        self._api = api
        self._hidden: list[str] = []

    def capacity(self) -> ClusterCapacity:
        """Return what the person may see. Raise ``ApiError`` when the API does not answer."""
        queues = self._some(f"{KUEUE}/clusterqueues", "teams and their queues", absent=NO_TEAMS)
        # Without teams there may be no Kueue, and then its API knows no workloads.
        teams = tuple(self._teams(queues)) if queues else ()
        if queues == []:
            self._hidden.append(NO_TEAMS)
        nodes = self._some(NODES, "pools: nodes")
        known = memory = pods = None
        if nodes is not None:
            what = "pools: their declaration"
            known = self._document(CAPACITY_CONFIGMAP, CAPACITY_KEY, what, of_text)
            what = "pools: machines requested from clouds"
            memory = self._document(AUTOSCALER, MEMORY_KEY, what, autoscaler_memory.of_text)
            pods = self._some(PODS, "pools: free capacity, since pods", fieldSelector=GOING_ON)
        capacities = pools(known or {}, nodes or (), pods, memory=memory or DecisionMemory(), now=self._api.now())
        return ClusterCapacity(at=self._api.now(), teams=teams, pools=tuple(capacities), hidden=tuple(self._hidden))

    def _teams(self, queues: Iterable[Object]) -> Iterator[TeamCapacity]:
        names = [queue["metadata"]["name"] for queue in queues]
        every = self._workloads(names)
        refusals = self._refusals(every)
        for queue in sorted(queues, key=lambda cluster_queue: str(cluster_queue["metadata"]["name"])):
            name = queue["metadata"]["name"]
            yield team(queue, every.get(name), refusal=refusals.get(name, ""))

    def _refusals(self, teams: Iterable[str]) -> dict[str, str]:
        """Return the reasons why namespaces of ``teams``, whose jobs the person may see, take no new pods."""
        try:
            closed = [*self._api.items(NAMESPACES, labelSelector=HELD_LABEL)]
        except ApiError as error:
            if error.status != 403:
                raise
            spaces = (self._api.find(NAMESPACES + path_of(name)) for name in teams)
            closed = [space for space in spaces if space is not None]
        return {item["metadata"]["name"]: refusal_of(item) for item in closed}

    def _workloads(self, teams: Iterable[str]) -> dict[str, list[Object]]:
        """Return the waiting jobs by team, without teams whose jobs the person may not see."""
        try:
            listed = [*self._api.items(f"{KUEUE}/workloads")]
        except ApiError as error:
            if error.status != 403:
                raise
            return self._own_workloads(teams)
        by_team: dict[str, list[Object]] = {name: [] for name in teams}
        for item in filter(is_waiting, listed):
            by_team.setdefault(item["metadata"]["namespace"], []).append(item)
        return by_team

    def _own_workloads(self, teams: Iterable[str]) -> dict[str, list[Object]]:
        by_team, others = {}, []
        for name in teams:
            try:
                listed = [*self._api.items(f"{KUEUE}{path_of('namespaces', name, 'workloads')}")]
            except ApiError as error:
                if error.status != 403:
                    raise
                others.append(name)
            else:
                by_team[name] = [*filter(is_waiting, listed)]
        if others:
            self._hidden.append(f"jobs of {', '.join(others)}: you are not in these teams")
        return by_team

    def _some(self, path: str, what: str, *, absent: str = "", **query: str) -> list[Object] | None:
        """Return the objects of a kind; None when the person may not see them, or when the kind does not exist, for
        which ``absent`` is the message."""
        try:
            return [*self._api.items(path, **query)]
        except ApiError as error:
            if error.status == 404 and absent:
                self._hidden.append(absent)
            else:
                self._leave_out(error, what)
            return None

    def _document(self, name: str, key: str, what: str, read: Callable[[str], Content]) -> Content | None:
        """Return the document in one of our ConfigMaps; None when it is missing, hidden from the person or invalid."""
        try:
            configmap = self._api.find(f"{SYSTEM_CONFIGMAPS}/{name}")
            return read(configmap["data"][key]) if configmap else None
        except ApiError as error:
            self._leave_out(error, what)
        except (AttributeError, KeyError, TypeError, ValueError):
            self._hidden.append(f"{what}: {name} cannot be read")
        return None

    def _leave_out(self, error: ApiError, what: str) -> None:
        why = {403: "you may not see", 404: "are not in this cluster"}.get(error.status)
        if why is None:
            raise error
        self._hidden.append(f"{what} {why}")
