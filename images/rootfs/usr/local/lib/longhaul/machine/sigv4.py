"""AWS Signature Version 4 for a posted form (docs.aws.amazon.com, "Create a signed AWS API request")."""

from __future__ import annotations

import hashlib
import hmac
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

CONTENT = "application/x-www-form-urlencoded; charset=utf-8"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Temporary credentials of an AWS role."""

    key: str
    secret: str = field(repr=False)
    session: str = field(repr=False)


def headers(
    url: str,
    body: bytes,
    *,
    region: str,
    service: str,
    credentials: Credentials,
    now: datetime,
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the headers of a POST of ``body`` to ``url``, which has no query. ``now`` is in UTC. ``more`` has further
    headers by lower-case name, which are signed and returned too."""
    extra = dict(more or {})
    parts = urllib.parse.urlsplit(url)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    signed = {
        "content-type": CONTENT,
        "host": parts.netloc,
        "x-amz-date": stamp,
        "x-amz-security-token": credentials.session,
        **extra,
    }
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        [
            "POST",
            urllib.parse.quote(parts.path or "/"),
            "",
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={credentials.key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return {
        "Content-Type": CONTENT,
        "X-Amz-Date": stamp,
        "X-Amz-Security-Token": credentials.session,
        "Authorization": authorization,
        **extra,
    }
