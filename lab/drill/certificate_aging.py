"""Ages certificates, run as the lab's operator:
``python -m lab.drill.certificate_aging --project FOLDER --env E --ends-in SECONDS NAME...``.

The program signs each certificate again with its authority, with the same key and content but other dates, as if it had
been issued long ago. The result replaces the old certificate in the vault and in the engine's state. Machines fetch it
like any other certificate.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from clouds.azure.api import KeyVault
from components.model import Environment, authorities, certificates, plan
from components.model.secrets.vault import vault_url
from lab.project import LabProject

LIVED = timedelta(hours=6)
"""Time for which an aged certificate has been valid."""
RESOURCE = "longhaul:Certificate"
"""Suffix of the type of a certificate in a state."""


def with_dates(certificate: str, *, authority: Mapping[str, str], ends: datetime) -> str:
    """Return the same certificate (PEM) with other dates, signed by ``authority``."""
    old = x509.load_pem_x509_certificate(certificate.encode())
    key = serialization.load_pem_private_key(authority["key"].encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("an authority's key is an elliptic curve's")
    builder = x509.CertificateBuilder(
        issuer_name=old.issuer,
        subject_name=old.subject,
        public_key=old.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=ends - LIVED,
        not_valid_after=ends,
        extensions=list(old.extensions),
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def age(environment: Environment, names: Sequence[str], *, ends: datetime) -> dict[str, str]:
    """Age certificates in the vault; return them by name."""
    vault = KeyVault(vault_url(environment))
    signers = {authority.name: authority.secret for authority in authorities(environment)}
    planned = {certificate.name: certificate for certificate in certificates(environment, plan(environment))}
    renewed: dict[str, str] = {}
    for name in names:
        secret = json.loads(_secret(vault, name))
        signer = json.loads(_secret(vault, signers[planned[name].authority]))
        renewed[name] = with_dates(secret["certificate"], authority=signer, ends=ends)
        vault.set(name, json.dumps({**secret, "certificate": renewed[name]}), content_type="application/json")
    return renewed


def put_into(state: dict[str, Any], renewed: Mapping[str, str], *, ends: datetime) -> None:
    """Put aged certificates into an exported state; raise ``LookupError`` when the state lacks one of them."""
    outputs = {
        resource["outputs"]["secret"]: resource["outputs"]
        for resource in state["deployment"]["resources"]
        if resource["type"].endswith(RESOURCE)
    }
    for name, certificate in renewed.items():
        outputs[name] |= {"certificate": certificate, "not_after": ends.isoformat()}


def _secret(vault: KeyVault, name: str) -> str:
    value = vault.get(name)
    if value is None:
        raise LookupError(f"the vault has no secret {name}")
    return value


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m lab.drill.certificate_aging", description=__doc__)
    parser.add_argument("--project", type=Path, required=True)
    parser.add_argument("--env", required=True)
    parser.add_argument("--ends-in", type=float, required=True, metavar="SECONDS")
    parser.add_argument("names", nargs="+", metavar="NAME")
    options = parser.parse_args()
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=options.ends_in)
    engine, stack = ["pulumi", "stack"], ["--stack", options.env]
    done = subprocess.run(
        [*engine, "export", *stack], cwd=options.project, stdout=subprocess.PIPE, text=True, check=True
    )
    state = json.loads(done.stdout)
    environment = LabProject(path=options.project, env=options.env).load()
    put_into(state, age(environment, options.names, ends=ends), ends=ends)
    subprocess.run([*engine, "import", *stack], cwd=options.project, input=json.dumps(state), text=True, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
