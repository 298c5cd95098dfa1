"""Passes that decide and change nothing, by the one that leads."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from longhaul.autoscaler.look import Looked, look
from longhaul.autoscaler.text import line
from longhaul.kubernetes.connection import ApiError
from longhaul.kubernetes.lease import HeldError, LeaseTimes, holding

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.autoscaler.health import Health
    from longhaul.kubernetes.api import Api
    from longhaul.prices.book import PriceBook

log = logging.getLogger("autoscaler")

LEASE = "longhaul-autoscaler"
PASS_S = 10.0
"""Time between two passes, seconds."""
TIMES = LeaseTimes(lasts_s=15, renew_s=2.0, gone=lambda _holder: False)
"""As the leader election of Kubernetes' own programs (k8s.io/component-base, ``RecommendedDefaultLeaderElection...``)."""
RETRY_S = 2.0


def watch(
    environment: Environment, api: Api, prices: PriceBook, *, holder: str, health: Health, stop: threading.Event
) -> None:
    """Lead when it is free, and then look again and again, until stopped."""
    said = ""
    while not stop.is_set():
        try:
            with holding(api, LEASE, holder=holder, times=TIMES) as held:
                log.info("leading as %s", holder)
                health.leading, said = True, ""
                while held() and not stop.is_set():
                    said = _pass(environment, api, prices, health, said)
                    stop.wait(PASS_S)
        except HeldError as error:
            if str(error) != said:
                said = str(error)
                log.info("waiting: the lease is %s", said)
        except ApiError as error:
            if str(error) != said:
                said = str(error)
                log.warning("waiting: %s", said)
        finally:
            health.leading = False
        stop.wait(RETRY_S)


def _pass(environment: Environment, api: Api, prices: PriceBook, health: Health, said: str) -> str:
    """Look once, and log what is new of it. Return what was said."""
    try:
        looked = look(environment, api, prices)
    except ApiError as error:
        text = f"no decision: {error}"
    else:
        health.groups, health.unseen = looked.groups - len(looked.blind), len(looked.blind)
        health.passes += 1
        text = _told(looked)
    if text != said:
        for one in text.splitlines():
            log.info("%s", one)
    return text


def _told(looked: Looked) -> str:
    seen = f"{looked.groups - len(looked.blind)} of {looked.groups} groups read"
    blind = [f"not seen: {one}" for one in looked.blind]
    return "\n".join([seen, *blind, *(f"would {line(action)}" for action in looked.decision.actions)])
