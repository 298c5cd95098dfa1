"""Verifies the signature of a request, AWS's version 4, and returns the key that made it.

docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. The services here accept signed
headers only; presigned URLs are refused like unsigned requests.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lab.cloud.aws.errors import AwsRefusalError

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW = datetime.timedelta(minutes=15)
"""Largest difference allowed between a request's time and now."""
_DIGEST = "x-amz-content-sha256"
_HEADER = re.compile(rf"{ALGORITHM}\s+Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{{64}})")


@dataclass(frozen=True, kw_only=True)
class SignedRequest:
    """One signed request."""

    method: str
    path: str
    """Path, still percent-encoded."""
    query: str
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    body: bytes


@dataclass(frozen=True, kw_only=True)
class AccessKey:
    """One access key."""

    secret: str
    token: str = ""
    """Token of a session; empty for a user's key."""
    expires: datetime.datetime | None = None
    """Expiry of a session; None for a user's key."""


@dataclass(frozen=True, kw_only=True)
class _Signature:
    key_id: str
    date: str
    region: str
    service: str
    headers: tuple[str, ...]
    value: str


def signer(
    request: SignedRequest,
    *,
    service: str,
    keys: Callable[[str], AccessKey | None],
    now: datetime.datetime | None = None,
) -> str:
    """Return the id of the access key that signed ``request`` for ``service``.

    Raises:
        AwsRefusalError: the request is unsigned, its key is unknown or expired, its signature is wrong, or its time is
            off.
    """
    now = now or datetime.datetime.now(datetime.UTC)
    signature = _parse(request)
    key = keys(signature.key_id)
    if key is None:
        raise _unknown(service)
    if not hmac.compare_digest(request.headers.get("x-amz-security-token", ""), key.token):
        raise _unknown(service)
    if signature.service != service or not {"host", "x-amz-date"} <= set(signature.headers):
        raise _mismatch(service, f"Credential should be scoped to correct service: '{service}'.")
    moment = request.headers.get("x-amz-date", "")
    _check_time(moment, now, signature.date)
    if key.expires is not None and key.expires < now:
        code = "RequestExpired" if service == "ec2" else "ExpiredToken"
        raise AwsRefusalError(code, "The security token included in the request is expired", status=403)
    if not hmac.compare_digest(_sign(request, signature, key.secret, moment), signature.value):
        text = "The request signature we calculated does not match the signature you provided."
        raise _mismatch(service, f"{text} Check your AWS Secret Access Key and signing method.")
    return signature.key_id


def _parse(request: SignedRequest) -> _Signature:
    header = request.headers.get("authorization", "")
    if not header:
        text = "Request is missing Authentication Token"
        raise AwsRefusalError("MissingAuthenticationToken", text, status=403)
    match = _HEADER.fullmatch(header.strip())
    scope = match.group(1).split("/") if match else []
    if match is None or len(scope) != 5 or scope[4] != "aws4_request":
        raise AwsRefusalError("IncompleteSignature", "The Authorization header is not a signature of version 4.")
    return _Signature(
        key_id=scope[0],
        date=scope[1],
        region=scope[2],
        service=scope[3],
        headers=tuple(match.group(2).split(";")),
        value=match.group(3),
    )


def _check_time(moment: str, now: datetime.datetime, date: str) -> None:
    try:
        sent = datetime.datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    except ValueError as problem:
        raise AwsRefusalError("IncompleteSignature", "X-Amz-Date is not a time such as 20260101T000000Z.") from problem
    if abs(now - sent) > SKEW or not moment.startswith(date):
        raise AwsRefusalError("RequestExpired", f"Signature expired: {moment} is too far from now.", status=403)


def _sign(request: SignedRequest, signature: _Signature, secret: str, moment: str) -> str:
    headers = {name: request.headers.get(name, "") for name in signature.headers}
    if _DIGEST in headers:  # otherwise the signer would trust the header
        headers[_DIGEST] = hashlib.sha256(request.body).hexdigest()
    url = f"https://{request.headers.get('host', '')}{request.path}?{request.query}"
    signed = AWSRequest(request.method, url, headers, request.body)
    signed.context["timestamp"] = moment
    auth = SigV4Auth(Credentials(signature.key_id, secret), signature.service, signature.region)
    return auth.signature(auth.string_to_sign(signed, auth.canonical_request(signed)), signed)


def _unknown(service: str) -> AwsRefusalError:
    if service == "ec2":
        text = "AWS was not able to validate the provided access credentials"
        return AwsRefusalError("AuthFailure", text, status=401)
    return AwsRefusalError("InvalidClientTokenId", "The security token included in the request is invalid.", status=403)


def _mismatch(service: str, text: str) -> AwsRefusalError:
    if service == "ec2":
        return _unknown(service)
    return AwsRefusalError("SignatureDoesNotMatch", text, status=403)
