"""Reads the public price interfaces over HTTP. Requests are retried when a server is busy; an answer is used only when
it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

T = TypeVar("T")

BUSY = (429, 500, 502, 503, 504)
"""Status codes after which a retry may succeed."""

CHUNK = 1 << 20
"""Number of bytes of a large file that are read at once."""

REPORT_EVERY = 64 << 20
"""Number of bytes between two lines about a large file's progress."""


class WebError(Exception):
    """Raised when an interface cannot be read. The message has the URL and the reason."""


@dataclass(frozen=True, kw_only=True)
class Web:
    """HTTP client with its limits of retries and time."""

    tries: int = 5
    pause_s: float = 1.0
    """Base of the pause between tries in seconds: no pause before the second try, twice this before the third, and
    doubled for each further one. A pause that the server requests takes precedence."""
    connect_s: float = 10.0
    silence_s: float = 60.0
    """Longest time without data from the server, in seconds."""
    session: requests.Session = field(default_factory=requests.Session)
    unreachable: set[str] = field(default_factory=set)
    """Hosts, with their ports, that accepted no connection. They are not asked again, since each further request would
    wait as long as the first."""

    def __post_init__(self) -> None:
        retry = Retry(
            total=self.tries - 1,
            backoff_factor=self.pause_s,
            backoff_max=30,
            status_forcelist=BUSY,
            allowed_methods=("GET",),
            raise_on_status=False,
            retry_after_max=60,
        )
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=retry))

    def document(self, url: str) -> dict[str, object]:
        """Return the JSON mapping at ``url``, with numbers as ``Decimal``. Raise ``WebError`` when there is none."""
        with self._answer(url, stream=False) as answer:
            try:
                content = answer.json(parse_float=Decimal)
            except ValueError:
                raise WebError(f"{url}: the answer is not JSON") from None
        if not isinstance(content, dict):
            raise WebError(f"{url}: the answer is not a JSON mapping")
        return content

    def scan(self, url: str, read: Callable[[Iterator[str]], T], *, say: Callable[[str], None]) -> T:
        """Return the result of ``read`` for the lines of the text at ``url``, which is never held in memory as a
        whole. An interrupted download starts again from the beginning. Raise ``WebError`` when every attempt is
        interrupted."""
        tried = 0
        while True:
            try:
                with self._answer(url, stream=True) as answer:
                    return read(_lines(answer, say))
            except requests.RequestException as error:
                tried += 1
                if tried == self.tries:
                    raise WebError(f"{url}: broke off {tried} times: {_reason(error)}") from None
                say(f"{url}: interrupted, starting again from its beginning")

    def _answer(self, url: str, *, stream: bool) -> requests.Response:
        host = urlsplit(url).netloc
        if host in self.unreachable:
            raise WebError(f"not asked: {host} accepted no connection before")
        try:
            answer = self.session.get(url, stream=stream, timeout=(self.connect_s, self.silence_s))
        except requests.RequestException as error:
            if isinstance(error, requests.ConnectionError) and not isinstance(error, requests.exceptions.SSLError):
                self.unreachable.add(host)
            raise WebError(f"{url}: {_reason(error)}") from None
        if answer.status_code != requests.codes.ok:
            with answer:
                tried = f", {self.tries} times" if answer.status_code in BUSY else ""
                raise WebError(f"{url}: answered {answer.status_code} {answer.reason}{tried}")
        return answer


def _lines(answer: requests.Response, say: Callable[[str], None]) -> Iterator[str]:
    """Yield the lines of a body, and report progress at intervals."""
    size = int(answer.headers.get("Content-Length", 0))
    rest, done, reported = b"", 0, 0
    for chunk in answer.iter_content(CHUNK):
        done += len(chunk)
        if done - reported >= REPORT_EVERY:
            reported = done
            say(f"{answer.url}: {done >> 20} MiB{f' of {size >> 20}' if size >= done else ''}")
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _reason(error: requests.RequestException) -> str:
    """Return the innermost reason of an error, without names of objects."""
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate cannot be verified"
    if isinstance(error, requests.exceptions.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was closed before the end"
    if isinstance(error, requests.exceptions.RetryError):
        return "too many redirects or tries"
    if isinstance(error, requests.exceptions.ConnectionError):
        return "no connection"
    return type(error).__name__
