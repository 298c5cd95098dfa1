"""Dates of the certificates that this machine has."""

from __future__ import annotations

import re
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

from contract.documents.node_answers import CertificateDates

BLOCK = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def dates(folder: Path) -> tuple[CertificateDates, ...]:
    """Return the dates of every certificate in the folder's files. Certificates that openssl cannot read are left out,
    because the programs that use them report the cause."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".pem", ".crt"))
    return tuple(validity for path in paths for validity in _of_file(path))


def _of_file(path: Path) -> Iterator[CertificateDates]:
    for block in BLOCK.findall(path.read_text()):
        command = ["openssl", "x509", "-noout", "-dates"]
        done = subprocess.run(command, input=block, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            fields = dict(line.split("=", 1) for line in done.stdout.splitlines())
            begins, ends = (float(ssl.cert_time_to_seconds(fields[key])) for key in ("notBefore", "notAfter"))
            yield CertificateDates(name=path.stem, begins=begins, ends=ends)
