"""Asking AWS by its SDK: one session with the user's own credentials, clients by service and region, one kind of error.

Operations and fields are those of botocore's service models, with which every request is checked before it is sent.
Nothing of the SDK is loaded before the first request.
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
"""How long one answer may take, seconds."""
ATTEMPTS = 5
"""At one request, those after throttling among them (botocore's mode ``standard``)."""
CONNECTIONS = 64
"""Connections that many threads may have at a time to one service."""

DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
"""Codes of a refusal (docs.aws.amazon.com, EC2 API, "Error codes"; IAM and Service Quotas, "Common errors")."""

STALE = (
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "UnrecognizedClientException",
)
"""Codes of credentials that are none, or no longer (same pages)."""

PASSING = (
    "InternalFailure",
    "RequestLimitExceeded",
    "ResourceContention",
    "ScalingActivityInProgress",
    "ServiceUnavailable",
    "Throttling",
    "ThrottlingException",
)
"""Refusals after which the same may be asked again (Auto Scaling API, "Common errors" and the actions' own)."""

SIGN_IN = "sign in (`aws sso login`), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and what belongs to it"


class AwsError(CloudError):
    """AWS refused or did not answer; the message says what was asked and why there is no answer."""

    def __init__(self, message: str, *, code: str = "", said: str = "", answered: bool = True) -> None:
        """``code`` and ``said`` are AWS's own words, empty where the SDK found no way to ask; ``answered`` is false
        where nobody was reached."""
        passing = not answered or code.removesuffix("Fault") in PASSING
        super().__init__(message, passing=passing, answered=answered)
        self.code, self.said = code, said

    @property
    def denied(self) -> bool:
        """Whether these credentials may not do it."""
        return self.code in DENIED

    @property
    def stale(self) -> bool:
        """Whether the credentials are none, or no longer."""
        return self.code in STALE


class Session:
    """Clients with the credentials that boto3 finds, made when they are first asked for; safe for many threads."""

    def __init__(self, *, read_s: float = READ_S) -> None:
        self._read_s = read_s
        self._lock = Lock()
        self._session: Any = None
        self._made: dict[tuple[str, str], Any] = {}

    def client(self, service: str, region: str) -> Any:
        """The client of a service in a region."""
        place = (service, region)
        # Neither a session nor the search for its credentials is made for several threads.
        with self._lock:
            if place not in self._made:
                self._made[place] = self._found().client(service, region_name=region, config=self._config())
            return self._made[place]

    def signed_in(self) -> bool:
        """Whether there are credentials."""
        with self._lock:
            return self._found().get_credentials() is not None

    def _found(self) -> Any:
        import boto3

        if self._session is None:
            self._session = boto3.Session()
        return self._session

    def _config(self) -> Any:
        from botocore.config import Config

        return Config(
            connect_timeout=CONNECT_S,
            read_timeout=self._read_s,
            max_pool_connections=CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        )


def shared() -> Session:
    """One session for all who ask with the same credentials: a client's making costs far more than what is asked."""
    return _shared(_who())


@cache
def _shared(_credentials: tuple[tuple[str, str], ...]) -> Session:
    return Session()


def _who() -> tuple[tuple[str, str], ...]:
    """What the credentials come from, as far as it can change while a program runs."""
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


@contextmanager
def asked(what: str) -> Iterator[None]:
    """Turn what the SDK raises into :class:`AwsError`, whose message begins with ``what``."""
    from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

    try:
        yield
    except ClientError as error:
        details = error.response.get("Error", {})
        code, said = str(details.get("Code", "")), str(details.get("Message", ""))
        raise AwsError(f"{what}: {error}", code=code, said=said) from None
    except (BotoCoreError, ValueError) as error:
        answered = not isinstance(error, (ConnectionError, HTTPClientError))
        raise AwsError(f"{what}: {error}", answered=answered) from None
