"""Signatures of a node's proof, against those that botocore makes."""

from __future__ import annotations

from datetime import UTC, datetime

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from machine import sigv4


def test_requests_are_signed_as_botocore_signs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 11, 21, 16, 9, 38, tzinfo=UTC)
    url, body = "https://sts.us-east-1.amazonaws.com/", b"Action=GetCallerIdentity&Version=2011-06-15"
    credentials = sigv4.Credentials(key="AKIDEXAMPLE", secret="secret", session="session")
    ours = sigv4.headers(url, body, region="us-east-1", service="sts", credentials=credentials, now=now)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: now.replace(tzinfo=None))
    request = AWSRequest(method="POST", url=url, data=body, headers={"Content-Type": sigv4.CONTENT})
    theirs = Credentials(credentials.key, credentials.secret, credentials.session)
    botocore.auth.SigV4Auth(theirs, "sts", "us-east-1").add_auth(request)
    assert ours["Authorization"] == request.headers["Authorization"]
    assert ours["X-Amz-Date"] == request.headers["X-Amz-Date"]
