"""All targets by name."""

from __future__ import annotations

from tests.fuzz import on_machines, operators, people
from tests.fuzz.target import Make

TARGETS: dict[str, Make] = {
    "environment": operators.environment,
    "hosts": operators.hosts,
    "depot-manifest": operators.depot_manifest,
    "depot-sums": operators.depot_sums,
    "depot-packages": operators.depot_packages,
    "verdicts": operators.verdicts,
    "profile": people.profile,
    "id-token": people.id_token,
    "certificate-request": on_machines.certificate_request,
    "join-proof": on_machines.join_proof,
    "attested-document": on_machines.attested_document,
    "token": on_machines.token,
    "sts-answer": on_machines.sts_answer,
    "environment-document": on_machines.environment_document,
    "aws-metadata": on_machines.aws_metadata,
    "azure-metadata": on_machines.azure_metadata,
    "host-place": on_machines.host_place,
    "aws-notices": on_machines.aws_notices,
    "azure-notices": on_machines.azure_notices,
}
