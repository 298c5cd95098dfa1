"""The lab's check of signatures."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lab.cloud.aws.errors import AwsRefusalError
from lab.cloud.aws.signing import AccessKey, SignedRequest, signer

BODY = b"Action=DescribeVpcs&Version=2016-11-15&Filter.1.Name=tag%3AName"


def signed(
    *, service: str = "ec2", secret: str = "s3cret", token: str | None = None, query: str = "", **headers: str
) -> SignedRequest:
    given = AWSRequest(
        method="POST",
        url=f"https://ec2.us-east-1.amazonaws.com/{query}",
        data=BODY,
        headers={
            "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            "Host": "ec2.us-east-1.amazonaws.com",
            **headers,
        },
    )
    SigV4Auth(Credentials("AKIAOPERATOR", secret, token), service, "us-east-1").add_auth(given)
    headers = {name.lower(): str(value) for name, value in given.headers.items()}
    return SignedRequest(method="POST", path="/", query=query.removeprefix("?"), headers=headers, body=BODY)


def keys(key_id: str) -> AccessKey | None:
    return AccessKey(secret="s3cret") if key_id == "AKIAOPERATOR" else None


def code(request: SignedRequest, **changes: Any) -> str:
    with pytest.raises(AwsRefusalError) as refused:
        signer(request, **{"service": "ec2", "keys": keys, **changes})
    return refused.value.code


@pytest.mark.parametrize("query", ["", "?b=2&a=1%2F&c="])
def test_the_sdks_signature_is_right(query: str) -> None:
    assert signer(signed(query=query), service="ec2", keys=keys) == "AKIAOPERATOR"


def test_the_documented_example_is_right() -> None:
    # docs.aws.amazon.com/IAM/latest/UserGuide, "Signature Version 4": the example of its test suite.
    signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    scope = "AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request"
    request = SignedRequest(
        method="GET",
        path="/",
        query="Action=ListUsers&Version=2010-05-08",
        headers={
            "content-type": "application/x-www-form-urlencoded; charset=utf-8",
            "host": "iam.amazonaws.com",
            "x-amz-date": "20150830T123600Z",
            "authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=content-type;host;x-amz-date, "
            f"Signature={signature}",
        },
        body=b"",
    )
    now = datetime.datetime(2015, 8, 30, 12, 36, tzinfo=datetime.UTC)
    key = AccessKey(secret="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    assert signer(request, service="iam", keys=lambda _: key, now=now) == "AKIDEXAMPLE"


def test_a_session_has_its_token() -> None:
    def session(_: str) -> AccessKey:
        return AccessKey(
            secret="s3cret", token="t0ken", expires=datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)
        )

    assert signer(signed(token="t0ken"), service="ec2", keys=session)
    assert code(signed(token="other"), keys=session) == "AuthFailure"
    assert code(signed(), keys=session) == "AuthFailure"
    assert code(signed(token="t0ken")) == "AuthFailure", "a token that the key does not have"


def test_what_was_changed_on_the_way_is_refused() -> None:
    request = signed()
    assert code(replace(request, body=BODY + b"&DryRun=true")) == "AuthFailure"
    assert code(replace(request, method="GET")) == "AuthFailure"
    assert code(replace(request, headers={**request.headers, "host": "sts.amazonaws.com"})) == "AuthFailure"
    assert code(signed(secret="other")) == "AuthFailure"
    unsigned = signed(**{"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert code(unsigned) == "AuthFailure", "a body that the signature leaves out"


def test_a_signature_is_for_one_service_and_for_now() -> None:
    assert code(signed(service="sts")) == "AuthFailure"
    assert code(signed(), service="iam") == "SignatureDoesNotMatch"
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=16)
    assert code(signed(), now=later) == "RequestExpired"

    def ended(_: str) -> AccessKey:
        return AccessKey(secret="s3cret", token="t", expires=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))

    assert code(signed(token="t"), keys=ended) == "RequestExpired"


def test_without_a_signature_nothing() -> None:
    request = signed()
    bare = {name: value for name, value in request.headers.items() if name != "authorization"}
    assert code(replace(request, headers=bare)) == "MissingAuthenticationToken"
    assert code(replace(request, headers={**bare, "authorization": "Basic x"})) == "IncompleteSignature"
