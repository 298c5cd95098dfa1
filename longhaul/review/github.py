"""Client of GitHub's REST API, as far as needed to keep one comment or one issue up to date.

Endpoints and fields: docs.github.com, "REST API endpoints for issue comments" and "… for issues" (a pull request's
comments are those of its issue). Paging by the ``link`` header: "Using pagination in the REST API". Retries: "Best
practices for using the REST API".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import requests

from longhaul.exits import CommandError

API = "https://api.github.com"
VERSION = "2022-11-28"
"""Version of the API (header ``X-GitHub-Api-Version``)."""

TRIES = 4
TIMEOUT_S = 30.0
LONGEST_WAIT_S = 60.0
"""Longest wait for a rate limit, seconds. A longer limit is an error: a job that waits costs more than one that is run
again."""

_REFUSED = {
    401: "the token is not valid: pass the job's own, `GITHUB_TOKEN: ${{ github.token }}`",
    403: "the token may not: the job needs `permissions: pull-requests: write` (for an issue `issues: write`), which "
    "no job for a fork has",
    404: "it is not there, or the token may not see it",
    410: "issues are switched off in this repository",
    422: "GitHub takes the text not as it is",
}


@dataclass(frozen=True, kw_only=True)
class GitHub:
    """One repository."""

    repository: str
    """Owner and name."""
    token: str
    api: str = API
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def comment(self, number: int, *, marker: str, body: str, anew: bool = True) -> str | None:
        """Write ``body``, which begins with ``marker``, as the pull request's comment. A comment that begins with
        ``marker`` is overwritten; without one, a new comment is made only if ``anew``. Returns the comment's address;
        None when no comment exists."""
        known = self._marked(f"/repos/{self.repository}/issues/{number}/comments", marker)
        if known is None:
            path = f"/repos/{self.repository}/issues/{number}/comments"
            return self._address("POST", path, {"body": body}) if anew else None
        return self._address("PATCH", f"/repos/{self.repository}/issues/comments/{int(known['id'])}", {"body": body})

    def issue(self, *, marker: str, title: str, body: str, well: bool) -> str | None:
        """Keep one issue, whose body begins with ``marker``, open while not all is ``well``, and close it when all is.
        Returns the issue's address; None when no issue exists and none is needed."""
        known = self._marked(f"/repos/{self.repository}/issues?state=open", marker)
        if known is None:
            if well:
                return None
            return self._address("POST", f"/repos/{self.repository}/issues", {"title": title, "body": body})
        change = {"title": title, "body": body, **({"state": "closed"} if well else {})}
        return self._address("PATCH", f"/repos/{self.repository}/issues/{int(known['number'])}", change)

    def _marked(self, path: str, marker: str) -> dict[str, Any] | None:
        """Return the first entry that a program wrote and whose body begins with ``marker``; without one, the first
        that anybody wrote. With a person's token, the entry is not a program's."""
        found = [one for one in self._all(path) if (one.get("body") or "").startswith(marker)]
        bots = [one for one in found if (one.get("user") or {}).get("type") == "Bot"]
        return next(iter([*bots, *found]), None)

    def _all(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield every entry of a list, page by page. Leave out pull requests, which GitHub lists among issues."""
        url: str | None = f"{self.api}{path}{'&' if '?' in path else '?'}per_page=100"
        while url is not None:
            answer = self._ask("GET", url, None)
            yield from (one for one in answer.json() if "pull_request" not in one)
            url = answer.links.get("next", {}).get("url")

    def _address(self, method: str, path: str, content: Mapping[str, str]) -> str:
        return str(self._ask(method, f"{self.api}{path}", content).json()["html_url"])

    def _ask(self, method: str, url: str, content: Mapping[str, str] | None) -> requests.Response:
        """Send one request, and repeat it while that can help. A ``POST`` that may have taken effect is not
        repeated."""
        for left in reversed(range(TRIES)):
            try:
                answer = self._once(method, url, content)
            except requests.RequestException as error:
                if method == "POST" or not left:
                    raise CommandError(f"{method} {url}: GitHub does not answer: {type(error).__name__}") from None
                self.sleep(2.0 ** (TRIES - left))
                continue
            if answer.ok:
                return answer
            wait = _wait(answer, written=method == "POST", turn=TRIES - left)
            if wait is None or not left:
                raise CommandError(_refusal(method, url, answer))
            self.sleep(wait)
        raise AssertionError("unreachable")

    def _once(self, method: str, url: str, content: Mapping[str, str] | None) -> requests.Response:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": VERSION,
        }
        return requests.request(method, url, json=content, headers=headers, timeout=TIMEOUT_S)


def _wait(answer: requests.Response, *, written: bool, turn: int) -> float | None:
    """Return the seconds until repeating the request can help; None when it cannot."""
    told = answer.headers.get("retry-after", "")
    limited = answer.status_code in (403, 429) and (told.isdigit() or answer.status_code == 429)
    if limited:
        wait = float(told) if told.isdigit() else LONGEST_WAIT_S
        return wait if wait <= LONGEST_WAIT_S else None
    return 2.0**turn if answer.status_code >= 500 and not written else None


def _refusal(method: str, url: str, answer: requests.Response) -> str:
    try:
        content = answer.json()
        said = str(content.get("message", ""))
        said += "".join(f"; {one.get('message', one)}" for one in content.get("errors", ()) if isinstance(one, dict))
    except (ValueError, AttributeError):
        said = answer.reason or ""
    known = _REFUSED.get(answer.status_code, "")
    return f"{method} {url}: GitHub answers {answer.status_code} {said}" + (f": {known}" if known else "")
