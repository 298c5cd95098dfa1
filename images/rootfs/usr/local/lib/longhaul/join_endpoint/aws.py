"""Identification of AWS machines. A machine signs ``GetCallerIdentity`` with the credentials of its instance profile,
and STS returns the signer. EC2 gives a role's session the name of the instance (docs.aws.amazon.com, "IAM roles for
Amazon EC2"), and only EC2 can assume the nodes' role.

The machine sends the signature, not the whole request. This module builds the URL, the body and the headers that bind
the signature to the cluster, the key and the challenge, and accepts only signatures over exactly :data:`SIGNED`. So a
machine cannot cause any other request to STS, or a request to another address.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from machine.sigv4 import CONTENT

from contract.certificate_requests import Attested, RefusedError
from contract.documents.node_controller import NodeEnvironment
from join_endpoint.outgoing_http import AnswerError, SourceError, fetch
from join_endpoint.proof import ProofQuestion, check_fresh, text
from join_endpoint.protocol import STS_FORM, bound, sts_url

SIGNED = (
    "content-type",
    "host",
    "x-amz-date",
    "x-amz-security-token",
    "x-longhaul-challenge",
    "x-longhaul-cluster",
    "x-longhaul-key",
)

BUSY = ("Throttling", "ThrottlingException", "RequestLimitExceeded")
"""Error codes that STS returns with status 400 after too many requests, independently of the signature
(github.com/kubernetes-sigs/aws-iam-authenticator, issue 382 and pull request 630)."""

REGION = r"[a-z]{2}(?:-[a-z]+)+-[0-9]{1,2}"
STAMP = "%Y%m%dT%H%M%SZ"
_DATE = r"[0-9]{8}T[0-9]{6}Z"
_SESSION = r"[A-Za-z0-9+/=_-]{16,4096}"
_AUTHORIZATION = (
    r"AWS4-HMAC-SHA256 Credential=[A-Z0-9]{16,128}/[0-9]{8}/([a-z0-9-]+)/sts/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=[0-9a-f]{64}"
)
_CALLER = re.compile(r"arn:aws:sts::([0-9]{12}):assumed-role/([\w+=,.@-]{1,64})/(i-[0-9a-f]{8,17})", re.ASCII)


class AwsProofs:
    """Verifier of AWS proofs, which sends the signatures to STS."""

    def __init__(
        self,
        *,
        url: Callable[[str], str] = sts_url,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._url, self._now = url, now

    def attested(self, proof: Mapping[str, object], question: ProofQuestion) -> Attested:
        """Return the instance, and the site whose nodes have the instance's role. Raise ``RefusedError`` if the proof
        is wrong, and ``SourceError`` if STS does not answer."""
        region = text(proof, "region", REGION)
        environment = question.environment
        sites = [site for site in environment.sites_of("aws") if site.region == region]
        if not sites:
            raise RefusedError("ForeignProof", f"no site of this environment is in {region}")
        roles = {site.node_role: site.name for site in sites}
        arn = self._caller(region, self._headers(proof, question, region=region))
        return _instance(arn, environment, roles)

    def _headers(self, proof: Mapping[str, object], question: ProofQuestion, *, region: str) -> dict[str, str]:
        stamp = text(proof, "date", _DATE)
        authorization = text(proof, "authorization", _AUTHORIZATION)
        try:
            signed_at = datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
        except ValueError:
            raise RefusedError("Malformed", "the proof's date is not a date") from None
        check_fresh(signed_at, now=self._now())
        scope, names = re.fullmatch(_AUTHORIZATION, authorization).groups()  # type: ignore[union-attr]
        if scope != region:
            raise RefusedError("ForeignProof", f"the proof is signed for {scope}, not for {region}")
        if tuple(names.split(";")) != SIGNED:
            raise RefusedError("UnboundProof", f"signed must be {', '.join(SIGNED)}, and nothing else")
        return {
            "Content-Type": CONTENT,
            "X-Amz-Date": stamp,
            "X-Amz-Security-Token": text(proof, "session", _SESSION),
            "Authorization": authorization,
            **bound(cluster=question.environment.name, fingerprint=question.fingerprint, challenge=question.challenge),
        }

    def _caller(self, region: str, headers: Mapping[str, str]) -> str:
        """Return the ARN of the signer. STS's answer to a wrong signature may contain the signed text, so errors
        contain only the answer's code."""
        what = f"STS in {region}"
        try:
            answer = fetch(self._url(region), what=what, method="POST", headers=headers, body=STS_FORM)
        except AnswerError as error:
            code = re.search(r"<Code>(\w{1,64})</Code>", str(error))
            reason = code[1] if code else str(error.status)
            if 400 <= error.status < 500 and error.status != 429 and reason not in BUSY:
                raise RefusedError("ForgedProof", f"{what} says {reason}") from None
            raise SourceError(f"{what} answers {error.status}") from None
        try:
            fields = {part.tag.rpartition("}")[2]: part.text or "" for part in ET.fromstring(answer).iter()}  # noqa: S314
            return fields["Arn"]
        except (ET.ParseError, KeyError):
            raise SourceError(f"{what}: the answer is not one of STS") from None


def _instance(arn: str, environment: NodeEnvironment, roles: Mapping[str, str]) -> Attested:
    """Return the machine of the session ``arn``. ``roles`` has the site of each role of nodes."""
    match = _CALLER.fullmatch(arn)
    if match is None:
        raise RefusedError("ForeignProof", "the caller is not an instance with a role")
    account, role, instance = match.groups()
    if account != environment.aws_account:
        raise RefusedError("ForeignProof", f"{instance} is of account {account}, not of {environment.aws_account}")
    if role not in roles:
        raise RefusedError("ForeignProof", f"{instance} has the role {role}, which is not that of this site's nodes")
    return Attested(site=roles[role], machine=instance)
