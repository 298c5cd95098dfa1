"""The autoscaler as a unit on every API server's machine (longhaul-autoscaler.service). One of the units leads.

The unit reads the environment from a ConfigMap that `longhaul up` writes. When the ConfigMap changes, the program ends,
and systemd restarts it, so that no former settings stay in memory.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable

from components.model.autoscaler.document import (
    CONFIGMAP,
    KEY,
    AutoscalerDocumentError,
    Given,
    of_text,
)
from components.model.loading.errors import ConfigurationError
from components.model.prices.book import PriceBook
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.object_names import SYSTEM_CONFIGMAPS
from contract.ports import AUTOSCALER_PORT
from contract.users import AUTOSCALER_ACCOUNT
from services.autoscaler.leader_loop import ProcessSettings
from services.autoscaler.leader_loop import serve as work
from services.autoscaler.metrics import METRICS
from services.cloud_access import sign_in
from services.process import service_process

log = logging.getLogger("autoscaler")

DOCUMENT = f"{SYSTEM_CONFIGMAPS}/{CONFIGMAP}"
LOOK_S = 5.0
"""Seconds between two looks at the document."""

Serve = Callable[[Given, PriceBook, threading.Event], None]
"""Works for an environment until the event is set."""


class AutoscalerUnit:
    """One run of the unit: from the start to the first change of the document, or to a signal to end."""

    def __init__(self, api: Api, serve: Serve, *, stop: threading.Event, look_s: float = LOOK_S) -> None:
        self._api, self._serve, self._look_s = api, serve, look_s
        self._stop = stop
        self._last_message = ""

    def run(self) -> None:
        """Wait for a valid document, and work with it until it changes."""
        text, given = self._first()
        if given is None:
            return
        over = threading.Event()
        follower = threading.Thread(target=self._follow, args=(text, over), daemon=True)
        follower.start()
        try:
            self._serve(given, prices(given), over)
        finally:
            over.set()
            follower.join()

    def _first(self) -> tuple[str, Given | None]:
        """Return the text and the content of the first valid document; an empty text and None when the unit is stopped
        before."""
        while not self._stop.is_set():
            try:
                text = self._read()
                if text:
                    return text, of_text(text)
                self._tell("the environment has no `autoscaler`: nothing to do")
            except (ApiError, AutoscalerDocumentError) as error:
                self._tell(f"not working: {error}")
            self._stop.wait(self._look_s)
        return "", None

    def _follow(self, text: str, over: threading.Event) -> None:
        """End the work when the document changes, or the unit is stopped."""
        while not over.is_set() and not self._stop.wait(self._look_s):
            try:
                changed = self._read() != text
            except ApiError:
                continue  # The work itself reports an API that does not answer.
            if changed:
                log.info("the environment has changed: restarting")
                break
        over.set()

    def _read(self) -> str:
        document = self._api.find(DOCUMENT)
        return str((document or {}).get("data", {}).get(KEY, ""))

    def _tell(self, text: str) -> None:
        if text != self._last_message:
            self._last_message = text
            log.info("%s", text)


def prices(given: Given) -> PriceBook:
    """Return the prices in the document; an empty book when they are invalid, since they only affect the order of
    pools."""
    try:
        return PriceBook.of(given.prices) if given.prices else PriceBook()
    except ConfigurationError as error:
        log.warning("working without prices: %s", error)
        return PriceBook()


def _write(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    """Run the unit and return its exit code."""
    with service_process(__doc__, port=AUTOSCALER_PORT, metrics=METRICS) as process:
        machine = process.machine

        def serve(given: Given, book: PriceBook, over: threading.Event) -> None:
            sites = given.environment.sites.values()
            sign_in(sites, machine=machine.name, role=given.aws_role, stop=over)
            settings = given.environment.autoscaler
            terms = ProcessSettings(
                instance=machine.name, act=settings is not None and not settings.dry_run, as_json=True
            )
            api = machine.api(AUTOSCALER_ACCOUNT)
            work(given.environment, api, book, stop=over, run=terms, write=_write, metrics=process.metrics)

        AutoscalerUnit(machine.api(AUTOSCALER_ACCOUNT), serve, stop=process.stop).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
