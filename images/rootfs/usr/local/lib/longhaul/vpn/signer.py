"""Sign a laptop's certificate for a person's token. The program reads JSON with ``token`` and ``csr``, and answers with
``status`` and ``body``, and with ``person`` if it has signed a certificate.

systemd starts this program for each connection to longhaul-vpn-signer.socket, which only the sign-in endpoint may open.
Strangers connect to the endpoint, so the endpoint has no signing key, and this program does not trust it: the program
itself asks kube-apiserver about each token.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from machine.config import PKI

from contract.json_object import json_object
from contract.paths import KUBERNETES_AUTHORITIES
from vpn.certificate import RequestError, Signer, end, key_of
from vpn.people import People, PersonRefusedError

log = logging.getLogger(__name__)

SETTINGS = Path("/etc/longhaul/vpn-signer.json")
REMOTES = Path("/etc/longhaul/vpn-remotes.json")
LARGEST = 256 * 1024
"""Largest question in bytes, which is enough for the largest body and token that the endpoint accepts."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """People, authority and settings for signatures."""

    people: People
    signer: Signer
    hours: float
    facts: dict[str, Any]
    """Settings that a laptop gets with its certificate, by name."""

    @classmethod
    def read(cls, *, settings: Path = SETTINGS, remotes: Path = REMOTES, pki: Path = PKI) -> Desk:
        """Read the machine's files. Raise ``OSError``, ``ValueError`` or ``LookupError`` if a file is missing or
        malformed."""
        config = json.loads(settings.read_text())
        signer = Signer.parse((pki / "vpn-authority.pem").read_text())
        facts = {
            "authority": (pki / "vpn-ca.crt").read_text(),
            "tls_crypt": (pki / "laptop-key").read_text(),
            "remotes": json.loads(remotes.read_text()),
            "cluster": config["cluster"],
        }
        people = People(url=config["api"], authority=pki / KUBERNETES_AUTHORITIES, right=config["right"])
        return cls(people=people, signer=signer, hours=config["hours"], facts=facts)

    def answer(self, question: bytes, *, now: datetime) -> dict[str, Any]:
        """Return the answer to a question."""
        try:
            asked = json_object(question)
            token, request = asked["token"], asked["csr"]
            if not (isinstance(token, str) and isinstance(request, str)):
                raise RequestError("write a certificate request in PEM as `csr`")
            key = key_of(request)
            person = self.people.find(token)
            until = end(now, hours=self.hours, token_ends=person.token_ends)
            if until <= now:
                raise PersonRefusedError(401, "the token has ended: sign in again")
        except (RequestError, ValueError, LookupError) as error:
            return _refusal(400, str(error) if isinstance(error, RequestError) else "write JSON with `csr`")
        except PersonRefusedError as error:
            log.warning("refused: %s", error)
            return _refusal(error.status, str(error))
        except OSError as error:
            log.warning("the API server cannot be asked: %s", error)
            return _refusal(503, "the API server does not answer: try again")
        certificate = self.signer.sign(key, name=person.name, now=now, until=until)
        log.info("%s has a certificate until %s", person.name, until.isoformat())
        # No time of day: the laptop's clock may be wrong.
        lasts_s = (until - now).total_seconds()
        return {
            "status": 200,
            "person": person.name,
            "body": {"certificate": certificate, "lasts_s": lasts_s, **self.facts},
        }


def _refusal(status: int, why: str) -> dict[str, Any]:
    return {"status": status, "body": {"error": why}}


def main() -> int:
    """Answer one question."""
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    question = sys.stdin.buffer.read(LARGEST + 1)
    if len(question) > LARGEST:
        answer = _refusal(413, "the question is too long")
    else:
        answer = Desk.read().answer(question, now=datetime.now(UTC))
    json.dump(answer, sys.stdout)
    return 0
