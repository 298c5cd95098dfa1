"""Checks of the network, with one pod on each site: traffic between the pods, names, and the metadata service."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from ipaddress import IPv4Address
from itertools import permutations

from clouds.registry import cloud_of
from components.model import Environment, plan
from components.model.nodes.taints import pool_taints
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NODES
from contract.kubernetes.readiness import is_ready
from contract.labels import SITE_LABEL
from contract.object_names import CLUSTER_DOMAIN
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.pods import NAMESPACE, TestPod, namespace, ready_pods
from longhaul.acceptance.target import AcceptanceTarget

DOMAIN = f"svc.{CLUSTER_DOMAIN}"
METADATA = "169.254.169.254"
"""Address of the clouds' instance metadata service."""


class Traffic:
    """Checks with one pod on each site that has nodes. ``addresses`` runs first and creates the pods; ``removed`` runs
    last and removes the pods."""

    def __init__(self, target: AcceptanceTarget) -> None:
        self._subject, self._talkers = target, dict[str, TestPod]()
        self._stack = ExitStack()

    def addresses(self) -> str:
        """Check that every pod has an address of the pod's site, that every other site reaches the pod, and that the
        called pod sees the caller's own address."""
        self._make()
        ranges = plan(self._subject.environment).sites
        for site, talker in self._talkers.items():
            if IPv4Address(talker.address) not in ranges[site].pods:
                raise NotSoError(f"the pod on {site} has {talker.address}, which is not in {ranges[site].pods}")
        pairs = self._pairs(lambda source, other: source.dial(other.address) == other.name, what="by address")
        for source, other in permutations(self._talkers.values(), 2):
            observed = source.dial(other.address, "clientip").rpartition(":")[0]
            if observed != source.address:
                raise NotSoError(f"{other.name} sees {source.name} as {observed or 'nobody'}, not as {source.address}")
        return f"{pairs}; each seen by its own address"

    def names(self) -> str:
        """Check from every site that the Service of every other site leads to that site's pod. Until the deadline, the
        check waits for the nodes to know that the pods are ready."""
        self._require()
        return self._pairs(lambda source, other: source.dial(other.name) == other.name, what="by name")

    def dns(self) -> str:
        """Check on every site that the full name of the site's own test Service leads to the site's pod, and that the
        name of a Service that does not exist gets no answer."""
        self._require()
        for site, talker in self._talkers.items():
            full = f"{talker.name}.{talker.namespace}.{DOMAIN}"
            self._await(partial(_names_itself, talker, full), f"{full} is answered on {site}")
            none = f"no-such-service.{talker.namespace}.{DOMAIN}"
            if answer := talker.dial(none):
                raise NotSoError(f"on {site} {none}, which does not exist, answers {answer!r}")
        return f"on {', '.join(self._talkers)}: full names are answered, and a name that does not exist is not"

    def metadata(self) -> str:
        """Check that no pod on a cloud's site gets an answer from the metadata service."""
        self._require()
        clouds = [site for site in self._talkers if cloud_of(self._subject.environment.sites[site]).rents]
        if not clouds:
            raise NotApplicableError("no cloud has nodes")
        for site in clouds:
            if answer := self._talkers[site].dial(METADATA, port=80):
                raise NotSoError(f"the pod on {site} is answered by {METADATA}: {answer[:80]!r}")
        return f"pods on {', '.join(clouds)} get no answer from {METADATA}"

    def removed(self) -> str:
        """Remove the test namespace and all objects in the namespace."""
        self._talkers = {}
        self._stack.close()
        return f"the namespace {NAMESPACE} and its pods are gone"

    def _make(self) -> None:
        target = self._subject
        api = target.api("")
        listed = [item for item in api.items(NODES) if is_ready(item)]
        sites = sorted({item["metadata"]["labels"].get(SITE_LABEL, "") for item in listed} - {""})
        if not sites:
            raise NotApplicableError("the environment has no nodes")
        space = self._stack.enter_context(namespace(api, target.condition_deadline))
        taken = tolerations(target.environment)
        # The prefix keeps pod names unique: a site may have the name of one of the cluster's own Services.
        wanted = {f"on-{site}": site for site in sites}
        made = ready_pods(api, target.condition_deadline(), target.image, wanted, tolerations=taken, space=space)
        self._talkers = {site: made[name] for name, site in wanted.items()}

    def _require(self) -> None:
        if not self._talkers:
            raise NotSoError("there are no pods to ask, as the check of addresses says")

    def _pairs(self, reaches: Callable[[TestPod, TestPod], bool], *, what: str) -> str:
        pairs = list(permutations(self._talkers, 2))
        if not pairs:
            raise NotApplicableError(f"only {next(iter(self._talkers))} has nodes: there is no other site to reach")
        for source, other in pairs:
            first, second = self._talkers[source], self._talkers[other]
            self._await(partial(reaches, first, second), f"{source} reaches {other} {what}")
        return f"{what}: {', '.join(f'{source} to {other}' for source, other in pairs)}"

    def _await(self, true: Callable[[], bool], what: str) -> None:
        self._subject.condition_deadline().eventually(lambda: "" if true() else "no answer, or another one", what=what)


def _names_itself(talker: TestPod, host: str) -> bool:
    """Return whether a name leads a pod to itself."""
    return talker.dial(host) == talker.name


def tolerations(environment: Environment) -> dict[str, list[Object]]:
    """Return, by site, the tolerations with which a pod may run on the nodes of any of the site's pools."""
    by_site: dict[str, list[Object]] = {}
    for name, pool in environment.pools.items():
        by_site.setdefault(pool.site, []).extend(
            {"key": taint.key, "operator": "Exists", "effect": taint.effect} for taint in pool_taints(environment, name)
        )
    return by_site
