"""All checks in the order in which they run: checks that restart or end machines come last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from longhaul.acceptance import cluster, disruption, gpus, joining, scaling
from longhaul.acceptance.check import TOLD, AcceptanceCheck
from longhaul.acceptance.clouds import nothing_public
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.traffic import Traffic


@contextmanager
def checks(target: AcceptanceTarget, *, disrupt: bool) -> Iterator[tuple[AcceptanceCheck, ...]]:
    """Yield the checks of an environment. Objects that the checks create on its cluster are removed at the end of the
    block."""
    traffic = Traffic(target)
    try:
        yield (
            _check(
                "components", "the API answers, and status finds everything healthy", lambda: cluster.components(target)
            ),
            _check("nodes", "every node is ready and of the declared version", lambda: cluster.nodes(target)),
            _check("pods by address", "pods of every two sites reach each other by address", traffic.addresses),
            _check("pods by name", "pods of every two sites reach each other by a Service's name", traffic.names),
            _check("dns", "full names are resolved on every site, and a missing name is not", traffic.dns),
            _check("metadata", "pods in clouds do not reach the machine's metadata", traffic.metadata),
            _check("gpus", "nodes offer the declared GPUs, and pods get them", lambda: gpus.gpu_pods(target)),
            _check(
                "unknown machine", "a machine that does not exist cannot join", lambda: joining.unknown_machine(target)
            ),
            _check("live node", "nobody gets a certificate in a live node's name", lambda: joining.live_node(target)),
            _check("nothing public", "only gateways have public addresses", lambda: nothing_public(target)),
            _check("no keys", "the engine's state holds no private key", lambda: cluster.no_keys(target)),
            _check("removal", "what these checks made on the cluster is gone", traffic.removed),
            _check(
                "scaling",
                "a machine more by the cloud's interface joins, a machine fewer leaves",
                lambda: scaling.scale_out_and_back(target),
            ),
            *([_disruption(target)] if disrupt else []),
            _check("second up", "`up` again changes nothing", lambda: cluster.unchanged(target)),
        )
    finally:
        # Needed when the check "removal" did not run. Deletion is requested first; a timeout after that does no harm.
        with suppress(*TOLD):
            traffic.removed()


def _disruption(target: AcceptanceTarget) -> AcceptanceCheck:
    shows = "the API goes on while an etcd machine, then an API server is restarted"
    return AcceptanceCheck(name="restarts", shows=shows, run=lambda: disruption.restarts(target))


def _check(name: str, shows: str, run: Callable[[], str]) -> AcceptanceCheck:
    return AcceptanceCheck(name=name, shows=shows, run=run)
