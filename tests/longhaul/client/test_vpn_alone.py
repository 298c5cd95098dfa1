"""The VPN's client with a real OpenVPN at both ends: a dead machine, a renewal, and the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.longhaul.client import vpn_alone
from tests.support.alone import NEEDS_ROOT, run_alone

pytestmark = [pytest.mark.engine, NEEDS_ROOT]


def test_it_connects_past_a_dead_machine_and_connections_outlive_a_renewal(tmp_path: Path) -> None:
    run_alone(vpn_alone.__name__, vpn_alone.connects_renews_and_ends.__name__, tmp_path)
