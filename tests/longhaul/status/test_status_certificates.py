"""Certificates that end: what status says of them, and how they are handed out once they are renewed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clouds.azure import control
from clouds.azure.errors import AzureError
from clouds.base.control import CommandOutput
from components.model import Environment, load
from contract.documents.node_answers import NodeReport, to_text
from contract.lifetimes import CERTIFICATE_DAYS
from contract.reasons.status import StatusReason
from longhaul.control_plane.node_answers import CertificateView, parse_answer
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.certificates import judge_certificates
from longhaul.up.renewed_certificates import distribute

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def certificate(name: str, *, left: timedelta, lasts: timedelta = timedelta(days=CERTIFICATE_DAYS)) -> CertificateView:
    return CertificateView(name=name, begins=NOW + left - lasts, ends=NOW + left)


@pytest.fixture(name="environment")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


def test_what_up_will_renew_in_time_is_not_told() -> None:
    """The next `longhaul up` renews it, and there are two months for that."""
    found = (certificate("member", left=timedelta(days=100)), certificate("client", left=timedelta(days=62)))
    assert judge_certificates(found, NOW) == (StatusVerdict.OK, StatusReason.READY, "")


def test_one_near_its_end_is_told_with_what_to_do() -> None:
    found = (certificate("member", left=timedelta(days=60)), certificate("client", left=timedelta(days=90)))
    assert judge_certificates(found, NOW) == (
        StatusVerdict.DEGRADED,
        StatusReason.CERTIFICATE_ENDS_SOON,
        "its certificate member ends in 60 days (2026-05-03 05:06 UTC)",
    )


def test_those_that_have_ended_come_first() -> None:
    found = (
        certificate("near", left=timedelta(days=1)),
        certificate("member", left=timedelta(minutes=-3)),
        certificate("client", left=timedelta(hours=-5)),
    )
    verdict, reason, message = judge_certificates(found, NOW)
    assert (verdict, reason) == (StatusVerdict.UNHEALTHY, StatusReason.CERTIFICATE_ENDED)
    assert message.startswith("its certificates client, member: the first ended 5 h ago (2026-03-04 00:06 UTC)")


def test_a_machine_tells_dates_and_one_of_an_older_image_none() -> None:
    told = {
        "machine": "m",
        "role": "api",
        "ready": True,
        "certificates": [{"name": "member", "begins": 0.0, "ends": NOW.timestamp()}],
    }
    (found,) = parse_answer(json.dumps(told), "").certificates
    assert (found.name, found.ends) == ("member", NOW)
    assert parse_answer(to_text(NodeReport(machine="m", role="api", ready=True)), "").certificates == ()


class Cloud:
    """Machines that take commands, except those that refuse or say nothing."""

    def __init__(self, *, refuses: str = "", mute: str = "") -> None:
        self.asked: list[str] = []
        self._refuses, self._mute = refuses, mute

    def __call__(self, *, subscription: str, prefix: str) -> Cloud:
        return self

    def run_command(self, group: str, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        self.asked.append(machine)
        if machine == self._refuses:
            raise AzureError("no agent")
        if machine == self._mute:
            return CommandOutput(stdout="", stderr="the vault is away")
        return CommandOutput(stdout=to_text(NodeReport(machine="m", role="api", ready=True)), stderr="")


def test_holders_alone_fetch_and_who_cannot_is_named(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = Cloud(refuses="lab-etcd-0", mute="lab-events-1")
    monkeypatch.setattr(control, "AzureApi", cloud)
    renewed = ["lab-api-1-apiserver", "lab-api-1-scheduler", "lab-etcd-0-member", "lab-events-1-client", "lab-operator"]
    said: list[str] = []
    distribute(environment, renewed, said.append)
    assert cloud.asked == ["lab-etcd-0", "lab-events-1", "lab-api-1"]
    assert said == [
        "lab-etcd-0 could not fetch its renewed certificates (no agent); it tries every ten minutes",
        "lab-events-1 could not fetch its renewed certificates (no answer from longhaul-node: the vault is away); "
        "it tries every ten minutes",
        "lab-api-1 has its renewed certificates",
    ]


def test_changed_issuers_are_fetched_by_api_servers_alone(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = Cloud(refuses="lab-api-1", mute="")
    monkeypatch.setattr(control, "AzureApi", cloud)
    said: list[str] = []
    distribute(environment, ["lab-issuers"], said.append)
    assert cloud.asked == ["lab-api-0", "lab-api-1"]
    assert said == [
        "lab-api-0 has its changed issuers",
        "lab-api-1 could not fetch its changed issuers (no agent); it tries every ten minutes",
    ]
