"""Requests to AWS through its SDK: one session with the user's own credentials, clients by service and region, one
class of error.

Operations and fields are those of botocore's service models, which check every request before it is sent. The SDK is
not loaded before the first request.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from clouds.base.errors import CloudError

CONNECT_S = 10.0
READ_S = 20.0
"""Time limit of one answer, in seconds."""
PROMPT_CONNECT_S, PROMPT_READ_S = 2.0, 5.0
"""Time limits of a connection and of an answer, in seconds, for a write that must arrive within the 15 s of a lease
(contract/kubernetes/election.py)."""
ATTEMPTS = 5
"""Largest number of tries of one request, including those after throttling (botocore's mode ``standard``)."""
CONNECTIONS = 64
"""Largest number of simultaneous connections to one service."""

DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
"""Error codes of a refusal (docs.aws.amazon.com, EC2 API, "Error codes"; IAM and Service Quotas, "Common errors")."""

STALE = (
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "UnrecognizedClientException",
)
"""Error codes of credentials that are invalid or have expired (same pages)."""

PASSING = (
    "InternalFailure",
    "RequestLimitExceeded",
    "ResourceContention",
    "ScalingActivityInProgress",
    "ServiceUnavailable",
    "Throttling",
    "ThrottlingException",
)
"""Error codes after which a retry may succeed (Auto Scaling API, "Common errors" and the actions' own)."""

SIGN_IN = "sign in (`aws sso login`), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


class AwsError(CloudError):
    """Raised when AWS refuses a request or does not answer. The message says what was requested, and why there is no
    answer."""

    def __init__(self, message: str, *, code: str = "", cloud_message: str = "", answered: bool = True) -> None:
        """``code`` and ``cloud_message`` are AWS's own words; empty when no request was sent or answered. ``answered``
        is false when no server was reached."""
        passing = not answered or code.removesuffix("Fault") in PASSING
        super().__init__(message, passing=passing, answered=answered, code=code)
        self.cloud_message = cloud_message

    @property
    def denied(self) -> bool:
        """Return whether the credentials do not allow the request."""
        return self.code in DENIED

    @property
    def stale(self) -> bool:
        """Return whether the credentials are invalid or have expired."""
        return self.code in STALE


class AwsSession:
    """Clients with the credentials that boto3 finds, made when they are first used; safe for several threads."""

    def __init__(self, *, read_s: float = READ_S, connect_s: float = CONNECT_S, attempts: int = ATTEMPTS) -> None:
        """``attempts`` is the largest number of tries of one request."""
        self._read_s, self._connect_s, self._attempts = read_s, connect_s, attempts
        self._lock = Lock()
        self._session: Any = None
        self._made: dict[tuple[str, str], Any] = {}

    def client(self, service: str, region: str) -> Any:
        """Return the client of a service in a region."""
        place = (service, region)
        # boto3's sessions, and its search for credentials, are not safe for several threads.
        with self._lock:
            if place not in self._made:
                self._made[place] = self._credentials_session().client(
                    service, region_name=region, config=self._config()
                )
            return self._made[place]

    def signed_in(self) -> bool:
        """Return whether there are credentials."""
        with self._lock:
            return self._credentials_session().get_credentials() is not None

    def _credentials_session(self) -> Any:
        import boto3

        if self._session is None:
            self._session = boto3.Session()
        return self._session

    def _config(self) -> Any:
        from botocore.config import Config

        return Config(
            connect_timeout=self._connect_s,
            read_timeout=self._read_s,
            max_pool_connections=CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": self._attempts},
        )


def shared() -> AwsSession:
    """Return one session for all callers with the same credentials, because it takes far longer to make a client than
    to send a request."""
    return _shared(_who())


def prompt() -> AwsSession:
    """Return the session for writes that are sent once, with short time limits."""
    return _prompt(_who())


@cache
def _prompt(_credentials: tuple[tuple[str, str], ...]) -> AwsSession:
    return AwsSession(read_s=PROMPT_READ_S, connect_s=PROMPT_CONNECT_S, attempts=1)


@cache
def _shared(_credentials: tuple[tuple[str, str], ...]) -> AwsSession:
    return AwsSession()


def _who() -> tuple[tuple[str, str], ...]:
    """Return the environment variables that determine the credentials, which may change while a program runs."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


@contextmanager
def aws_errors(what: str) -> Iterator[None]:
    """Turn the SDK's errors into :class:`AwsError`, whose message begins with ``what``."""
    from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        details = error.response.get("Error", {})
        code, text = str(details.get("Code", "")), str(details.get("Message", ""))
        raise AwsError(f"{what}: {error}", code=code, cloud_message=text) from None
    except ResponseParserError:
        # The message of the error holds the whole answer.
        raise AwsError(f"{what}: the answer cannot be read") from None
    except (BotoCoreError, ValueError) as error:
        answered = not isinstance(error, (ConnectionError, HTTPClientError))
        raise AwsError(f"{what}: {error}", answered=answered) from None
