"""Role assignments take effect late, each in its own time, and not at once for good."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pytest

from clouds.azure.roles import READER, SECRETS_OFFICER, SECRETS_USER
from components.control_plane.secrets import VaultAccessProvider
from lab.cloud.azure.grants import LONGEST_S
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, Live, SlowLive
from tests.lab.cloud.test_identity import body
from tests.lab.cloud.test_vault import LOOPBACK, raw


def principal(live: Live, audience: str) -> tuple[str, str]:
    """Return a machine's principal, and a token of it."""
    found = str(live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"])
    return found, live.cloud._identity.token(object_id=found, app_id="a", audience=audience)


def grant(slow: SlowLive, *, scope: str, role: str, principal: str) -> None:
    """Assign a role under a name that is the same in each run, for the moments depend on it."""
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/11111111-1111-4111-8111-111111111111"
    assert slow.arm("PUT", path, body(role, principal), token=slow.owner()).status_code == 201


def seen(slow: SlowLive, answers: Callable[[], int], *, step_s: float = 20.0) -> list[int]:
    """Return the different answers in ten minutes, in their order."""
    found = []
    for _ in range(int(LONGEST_S / step_s) + 1):
        found.append(answers())
        slow.turn(step_s)
    return [answer for answer, _ in groupby(found)]


def test_a_role_takes_effect_late_and_not_for_good_at_once(slow: SlowLive) -> None:
    estate.build(slow, with_machine=False)
    who, token = principal(slow, "https://management.azure.com")
    grant(slow, scope=GROUP, role=READER, principal=who)
    answers = seen(slow, lambda: slow.arm("GET", estate.NIC, token=token).status_code)
    assert answers == [403, 200, 403, 200]


def test_roles_on_two_scopes_take_effect_one_after_the_other(slow: SlowLive) -> None:
    """That one secret can be read does not say that another can."""
    estate.build(slow, with_machine=False)
    slow.put(estate.VAULT, estate.vault(slow, **LOOPBACK))
    officer, its_token = principal(slow, "https://vault.azure.net")
    grant(slow, scope=estate.VAULT, role=SECRETS_OFFICER, principal=officer)
    slow.turn(LONGEST_S)
    for name in ("one", "two"):
        assert raw("PUT", f"secrets/{name}", its_token, {"value": "x"}).status_code == 200
    slow.put(f"{estate.IDENTITY}b", estate.WHERE)
    reader = str(slow.arm("GET", f"{estate.IDENTITY}b").json()["properties"]["principalId"])
    token = slow.cloud._identity.token(object_id=reader, app_id="a", audience="https://vault.azure.net")
    for name in ("one", "two"):
        grant(slow, scope=f"{estate.VAULT}/secrets/{name}", role=SECRETS_USER, principal=reader)
    together = seen(slow, lambda: sum(raw("GET", f"secrets/{name}", token).status_code for name in ("one", "two")))
    assert together[0] == 403 + 403
    assert 403 + 200 in together
    assert together[-1] == 200 + 200


def test_a_restart_of_the_daemon_does_not_stop_a_role(slow: SlowLive) -> None:
    estate.build(slow, with_machine=False)
    who, token = principal(slow, "https://management.azure.com")
    grant(slow, scope=GROUP, role=READER, principal=who)
    slow.stop()
    slow.start()
    assert slow.arm("GET", estate.NIC, token=token).status_code == 403
    slow.turn(LONGEST_S)
    assert slow.arm("GET", estate.NIC, token=token).status_code == 200


def test_the_program_begins_with_a_vault_when_its_role_is_in_force(
    slow: SlowLive, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate.build(slow, with_machine=False)
    slow.put(estate.VAULT, estate.vault(slow, **LOOPBACK))
    monkeypatch.setattr("clouds.azure.api.time.sleep", slow.turn)
    given = slow.clock.now()
    operator = slow.cloud.operator_environment()["LAB_OPERATOR_OBJECT_ID"]
    grant(slow, scope=estate.VAULT, role=SECRETS_OFFICER, principal=operator)
    VaultAccessProvider().create({"vault_url": "https://lh-lab-vault.vault.azure.net"})
    assert 10 < slow.clock.now() - given < LONGEST_S
