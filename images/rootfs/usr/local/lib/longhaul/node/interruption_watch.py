"""Report to the cluster that the cloud takes this machine back.

The node controller then adds a taint to the node, by which the node's pods are ended, so that the pods can write their
checkpoints. The program ends with 0 on a machine that no cloud takes back.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from gpu.own_node import NotRegisteredError, OwnNode, this_node
from machine.metadata import NotYetError

from contract.annotations import MIRROR
from contract.conditions import INTERRUPTION
from contract.documents.node import Worker
from contract.kubernetes.connection import ApiError
from contract.labels import INTERRUPTED
from contract.taints import INTERRUPTED_TAINT
from node.interruption_notices import Notices, notices

log = logging.getLogger("interruption")

COMPONENT = "longhaul-interruption"

POLL_S = 5.0
"""Seconds between two polls, as AWS recommends (docs.aws.amazon.com, "Spot Instance interruption notices")."""
RETRY_S = 1.0
"""Seconds until the next attempt to report to the cluster. On AWS there are two minutes for it, on Azure half a
minute."""


class Watcher:
    """Watcher of the notices, which reports each notice to the cluster once."""

    def __init__(self, node: OwnNode, source: Notices) -> None:
        self._node, self._notices = node, source
        self._recommendation = ""

    def step(self) -> bool:
        """Read the notices and report them. Return True once nothing is left to do: the cluster knows that the machine
        ends, and a cloud that waits for approval knows that the pods have ended. Raise ``ApiError``,
        ``NotRegisteredError`` or ``NotYetError`` if the step must be tried again."""
        why = self._notices.interruption()
        if why:
            self._interrupted(why)
            return not self._notices.awaits_approval() or self._released()
        recommended = self._notices.recommendation()
        if recommended and recommended != self._recommendation:
            # Only for people: many such machines run on for hours.
            self._node.say(reason="RebalanceRecommended", message=recommended, warning=False)
        self._recommendation = recommended
        return False

    def _interrupted(self, why: str) -> None:
        if self._node.read()["metadata"].get("labels", {}).get(INTERRUPTED) == "true":
            return
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": INTERRUPTION, "status": "True", "reason": "TakenBack", "message": why}
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        self._node.write(conditions=[condition | times], labels={INTERRUPTED: "true"}, annotations={})
        log.warning("%s", why)

    def _released(self) -> bool:
        """Return whether the machine's pods have ended, and tell the cloud if they have."""
        if not all(map(stays, self._node.pods())):
            return False
        self._notices.approve()
        log.warning("all pods have ended: the machine can be stopped")
        return True


def stays(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod stays until the machine ends. Such pods tolerate the node controller's taint for ever, as
    most daemon sets' pods do, or are the kubelet's own."""
    if MIRROR in (pod["metadata"].get("annotations") or {}):
        return True
    return any(
        toleration.get("key") in (None, "", INTERRUPTED)
        and (toleration.get("operator") == "Exists" or toleration.get("value") == INTERRUPTED_TAINT["value"])
        and toleration.get("effect") in (None, "", INTERRUPTED_TAINT["effect"])
        and toleration.get("tolerationSeconds") is None
        for toleration in pod["spec"].get("tolerations") or ()
    )


def awaited(source: Notices, *, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Wait until the cloud answers, and return whether the cloud may take the machine back."""
    reported = ""
    while True:
        try:
            return source.spot()
        except NotYetError as error:
            reported = _not_yet(error, reported)
        sleep(POLL_S)


def run(watcher: Watcher, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Run steps until the cluster and the cloud know that the machine ends."""
    reported = ""
    while True:
        pause = POLL_S
        try:
            if watcher.step():
                return
            reported = ""
        except NotYetError as error:
            reported = _not_yet(error, reported)
        except (ApiError, NotRegisteredError) as error:
            reported, pause = _not_yet(error, reported), RETRY_S
        sleep(pause)


def _not_yet(error: Exception, reported: str) -> str:
    if str(error) != reported:
        log.warning("not yet: %s", error)
    return str(error)


def main() -> int:
    """Run the service and return its exit code."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        worker = Worker.read()
        source = notices(worker.kind, deletion_notice=worker.deletion_notice)
        if source is None or not awaited(source):
            print("no cloud reclaims this machine: there is nothing to watch")
            return 0
        watcher = Watcher(this_node(agent=COMPONENT, component=COMPONENT), source)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        print(error, file=sys.stderr)
        return 1
    run(watcher)
    return 0
