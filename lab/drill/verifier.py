"""Verifier: ``python -m lab.drill.verifier --kubeconfig FILE --folder FOLDER``, run as the lab's operator, outside the
machines that it judges.

It writes unique objects. Five times a second it also changes one object through the load balancer, each time on a new
connection, and reads it back. It watches everything, and writes each answer into ``FOLDER/journal.jsonl``. It prints
``ready`` once writes are acknowledged. When its input ends, it stops, reads all objects back and prints its verdict as
JSON.
"""

from __future__ import annotations

import argparse
import http.client
import json
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, CancelledError
from contract.kubernetes.paths import NAMESPACES
from lab.drill.journal import DrillJournal, JournalRecord, RecordKind, RequestOutcome, read
from lab.drill.verdict import judge

INTERVAL_S = 0.2
"""Time between two probes, seconds."""
WRITERS = 4
WRITES_S = 10.0
"""Largest number of writes of one writer in a second."""
ANSWER_S = 10.0
"""Time limit of one answer, seconds."""
PROBES = 2 * int(ANSWER_S / INTERVAL_S)
"""Largest number of probes in flight. While nothing answers, each probe waits for its time limit."""
RECOVERY_S = 300.0
"""Time limit in seconds after the fault until the objects can be read."""


class LoadVerifier:
    """The load on one cluster, in a namespace of its own."""

    def __init__(self, connect: Callable[[], Api], journal: DrillJournal) -> None:
        self._connect, self._journal = connect, journal
        self._name = f"longhaul-drill-{secrets.token_hex(4)}"
        self._maps = path_of("api", "v1", "namespaces", self._name, "configmaps")
        self._over = threading.Event()
        self._watching = connect()
        self._written = self._announced_version = 0

    def make(self) -> None:
        """Make the namespace and the object of the probes."""
        api = self._connect()
        api.post(NAMESPACES, _named("Namespace", self._name))
        api.post(self._maps, {**_named("ConfigMap", "probe"), "data": {"sequence": "0"}})

    def run(self, until: Callable[[], object]) -> None:
        """Load the cluster until ``until`` returns, and give the watch time to report the acknowledged writes."""
        with ExitStack() as stack:
            watch = stack.enter_context(ThreadPoolExecutor(1))
            stack.callback(self._watching.cancel)
            writers = stack.enter_context(ThreadPoolExecutor(WRITERS + 2))
            probes = stack.enter_context(ThreadPoolExecutor(PROBES))
            stack.callback(self._over.set)
            watched = watch.submit(self._watch)
            loads = [
                *(writers.submit(self._write, index) for index in range(WRITERS)),
                writers.submit(self._probe, probes),
                writers.submit(self._read),
            ]
            until()
            self._over.set()
            for load in loads:
                load.result()
            self._await_watch()
            self._watching.cancel()
            watched.result()

    def _await_watch(self) -> None:
        """Wait until the watch has reported the newest acknowledged write, at most :data:`RECOVERY_S`."""
        deadline = time.monotonic() + RECOVERY_S
        while self._announced_version < self._written and time.monotonic() < deadline:
            time.sleep(INTERVAL_S)

    def read_back(self) -> dict[str, str]:
        """Return the keys that exist and their values, by linearizable reads. Raise ``ApiError`` for a lasting error,
        or when the API does not answer for :data:`RECOVERY_S`."""
        deadline = time.monotonic() + RECOVERY_S
        while True:
            try:
                return {
                    config_map["metadata"]["name"]: config_map["data"]["value"]
                    for config_map in self._maps_of(self._connect())
                }
            except ApiError as error:
                if not error.passing or time.monotonic() > deadline:
                    raise
                time.sleep(INTERVAL_S)

    def remove(self) -> None:
        """Delete the namespace; the cluster empties it later."""
        api, path = self._connect(), path_of("api", "v1", "namespaces", self._name)
        live = api.find(path)
        if live is not None:
            api.delete(path, uid=live["metadata"]["uid"])

    def _maps_of(self, api: Api) -> Iterator[dict[str, Any]]:
        return (config_map for config_map in api.items(self._maps) if "value" in (config_map.get("data") or {}))

    def _write(self, writer: int) -> None:
        api, number = self._connect(), 0
        while not self._over.wait(1 / WRITES_S):
            key, value, number = f"w{writer}-{number}", secrets.token_hex(16), number + 1
            body = {**_named("ConfigMap", key), "data": {"value": value}}
            self._ask(RecordKind.WRITE, partial(api.post, self._maps, body), key=key, value=value)

    def _probe(self, probes: ThreadPoolExecutor) -> None:
        number = 0
        while not self._over.wait(INTERVAL_S):
            number += 1
            probes.submit(self._probe_once, number)

    def _probe_once(self, number: int) -> None:
        if not self._over.is_set():
            body = {"data": {"sequence": str(number)}}
            self._ask(RecordKind.PROBE, lambda: self._connect().patch(f"{self._maps}/probe", body))

    def _read(self) -> None:
        while not self._over.wait(INTERVAL_S):
            self._ask(RecordKind.READ, lambda: self._connect().get(f"{self._maps}/probe"))

    def _ask(self, kind: RecordKind, ask: Callable[[], dict[str, Any]], *, key: str = "", value: str = "") -> None:
        began = time.monotonic()
        try:
            revision, outcome, reason = int(ask()["metadata"]["resourceVersion"]), RequestOutcome.ACKNOWLEDGED, ""
            self._written = max(self._written, revision) if kind is RecordKind.WRITE else self._written
        except ApiError as error:
            revision, outcome, reason = 0, _outcome(error), str(error)
        ended = time.monotonic()
        self._journal.write(
            JournalRecord(
                kind=kind,
                began=began,
                ended=ended,
                outcome=outcome,
                key=key,
                value=value,
                revision=revision,
                reason=reason,
            )
        )

    def _watch(self) -> None:
        version = ""
        with suppress(CancelledError):
            while not self._watching.cancelled.is_set():
                try:
                    version = self._follow(version or self._list())
                except (ApiError, OSError, http.client.HTTPException) as error:
                    version = "" if isinstance(error, ApiError) and error.status == 410 else version
                    self._watching.wait(INTERVAL_S)

    def _list(self) -> str:
        answer = self._watching.get(self._maps)
        now, version = time.monotonic(), str(answer["metadata"]["resourceVersion"])
        for item in answer["items"]:
            key = item["metadata"]["name"]
            self._journal.write(
                JournalRecord(kind=RecordKind.RELIST, began=now, ended=now, key=key, revision=int(version))
            )
        self._announced_version = int(version)
        return version

    def _follow(self, version: str) -> str:
        """Write events after ``version`` into the journal until the stream ends. Return the revision from which to
        continue; empty when a new list is needed."""
        wanted = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        with suppress(OSError, http.client.HTTPException):
            for line in self._watching.lines(self._maps, wanted, silence_s=2 * ANSWER_S):
                event = json.loads(line)
                object_ = event["object"]
                if event["type"] == "ERROR":
                    return "" if object_.get("code") == 410 else version
                version = str(object_["metadata"]["resourceVersion"])
                self._announced_version = int(version)
                if event["type"] == "ADDED":
                    now, key = time.monotonic(), object_["metadata"]["name"]
                    self._journal.write(
                        JournalRecord(kind=RecordKind.EVENT, began=now, ended=now, key=key, revision=int(version))
                    )
        return version


def _named(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def _outcome(error: ApiError) -> RequestOutcome:
    """Return the outcome of a failed request. A conflict (409) counts as unknown, because an earlier attempt of the
    request may have made the object."""
    refused = 400 <= error.status < 500 and error.status != 409
    return RequestOutcome.REFUSED if refused else RequestOutcome.UNKNOWN


def main(argv: list[str] | None = None) -> int:
    """Run the program; return 0 when the verdict is safe, else 1."""
    parser = argparse.ArgumentParser(prog="python -m lab.drill.verifier", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="an existing folder for the journal")
    options = parser.parse_args(argv)
    kubeconfig = yaml.safe_load(options.kubeconfig.read_text(encoding="utf-8"))
    journal = DrillJournal(options.folder / "journal.jsonl")
    verifier = LoadVerifier(lambda: Api.of(kubeconfig, timeout_s=ANSWER_S), journal)
    verifier.make()
    try:
        verifier.run(lambda: _announced(journal))
        journal.close()
        verdict = judge(read(options.folder / "journal.jsonl"), verifier.read_back(), interval_s=INTERVAL_S)
    finally:
        verifier.remove()
    sys.stdout.write(json.dumps({**asdict(verdict), "safe": verdict.safe}) + "\n")
    return 0 if verdict.safe else 1


def _announced(journal: DrillJournal) -> None:
    """Print that the load runs, and wait for the end of the input."""
    while not journal.acknowledged:
        time.sleep(INTERVAL_S)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    sys.exit(main())
