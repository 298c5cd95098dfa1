"""Measurements of a way, and the pods that a cut may move."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from contract.labels import OUTLIVE_LABEL
from contract.taints import CUT
from lab.drill import link_probe
from lab.drill.link_traffic import LinkTraffic, figures
from lab.state import LabError


def test_the_gap_and_the_return_are_measured() -> None:
    silent, back = figures([1.0, 1.2, 31.2, 31.4], ended=30.0, lasts_s=30.0, within_s=15.0)
    assert (silent.seconds, silent.slow) == (pytest.approx(29.8), False)
    assert (back.seconds, back.slow) == (pytest.approx(1.2), False)


def test_a_late_return_is_slow() -> None:
    _, back = figures([1.0, 46.0], ended=30.0, lasts_s=30.0, within_s=15.0)
    assert back.slow


def test_traffic_that_does_not_come_back_is_no_figure() -> None:
    with pytest.raises(LabError, match="after the fault"):
        figures([1.0, 1.2], ended=30.0, lasts_s=30.0, within_s=15.0)


def _pod(name: str, tolerates: float | None, *, node: str = "rack") -> dict[str, Any]:
    limit = {} if tolerates is None else {"tolerationSeconds": tolerates}
    toleration = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", **limit}
    spec = {"nodeName": node, "tolerations": [toleration]}
    return {"metadata": {"namespace": "team", "name": name}, "spec": spec}


@pytest.mark.parametrize(("lasts_s", "movable"), [(300.0, set()), (1200.0, {"team/usual"})])
def test_a_cut_moves_the_pods_that_do_not_tolerate_it(lasts_s: float, movable: set[str]) -> None:
    observer = LinkTraffic(StringIO(), lambda: None, nodes=["rack"], lasts_s=lasts_s, within_s=15.0)
    pods = [_pod("usual", 300), _pod("longer", 21600), _pod("for-ever", None), _pod("elsewhere", 300, node="cloud")]
    assert observer.movable(pods) == movable


def test_the_label_is_the_products() -> None:
    assert (OUTLIVE_LABEL, CUT) == (OUTLIVE_LABEL, CUT)


def test_the_probe_tells_of_connections_until_its_input_ends() -> None:
    source = Path(link_probe.__file__).read_text(encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [sys.executable, "-c", source, "127.0.0.1", str(server.getsockname()[1])]
        began = time.monotonic()
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            first = float(process.stdout.readline())
            process.communicate()
    assert began < first < time.monotonic()
    assert process.returncode == 0
