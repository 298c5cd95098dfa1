"""GitHub's comments and issues on loopback, with the parts that are used; any other request is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import listening

TOKEN = "ghs_of_the_job"
REPOSITORY = "octo-org/octo-repo"
PAGE = 2
"""Maximum number of entries on a page, whatever the request asks for; GitHub itself allows a hundred."""


@dataclass(kw_only=True)
class StandIn:
    """Content of GitHub, and the requests that it got."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Requests that the real GitHub would refuse; each test checks them at its end."""
    answers: list[tuple[int, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    """Answers for the next requests, in place of the normal ones."""

    def has_comment(self, body: str, *, kind: str = "User") -> None:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"type": kind}, "html_url": "-"})

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], Any]:
        self.asked.append(f"{method} {target}")
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {}, {"message": "Bad credentials"}
        expected = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
        for name, value in expected.items():
            if headers.get(name) != value:
                self.wrong.append(f"{name}: {headers.get(name)}")
        if self.answers:
            return self.answers.pop(0)
        content = json.loads(body) if body else {}
        return self._route(method, urlsplit(target), content)

    def _route(self, method: str, target: Any, content: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        path, query = target.path, parse_qs(target.query)
        prefix = f"/repos/{REPOSITORY}/issues"
        if method == "GET" and path == f"{prefix}/7/comments" and set(query) <= {"per_page", "page"}:
            return self._page(self.comments, path, query)
        if method == "GET" and path == prefix and query.get("state") == ["open"]:
            return self._page([one for one in self.issues if one["state"] == "open"], path, query)
        if method == "POST" and path == f"{prefix}/7/comments" and set(content) == {"body"}:
            return self._made(
                self.comments, {"id": len(self.comments) + 1, **content}, f"#comment-{len(self.comments) + 1}"
            )
        if method == "POST" and path == prefix and set(content) == {"title", "body"}:
            number = len(self.issues) + 1
            return self._made(self.issues, {"number": number, "state": "open", **content}, f"/issues/{number}")
        if (
            method == "PATCH"
            and (found := re.fullmatch(rf"{prefix}/comments/(\d+)", path))
            and set(content) == {"body"}
        ):
            return self._changed(self.comments, "id", int(found[1]), content)
        known = set(content) <= {"title", "body", "state"}
        if method == "PATCH" and known and (found := re.fullmatch(rf"{prefix}/(\d+)", path)):
            return self._changed(self.issues, "number", int(found[1]), content)
        self.wrong.append(f"{method} {path} {query} {sorted(content)}")
        return 404, {}, {"message": "Not Found"}

    def _page(
        self, found: list[dict[str, Any]], path: str, query: dict[str, list[str]]
    ) -> tuple[int, dict[str, str], Any]:
        if int(query["per_page"][0]) > 100:
            self.wrong.append("per_page")
        page = int(query.get("page", ["1"])[0])
        rest = "&".join(f"{key}={value[0]}" for key, value in query.items() if key != "page")
        more = len(found) > page * PAGE
        link = {"link": f'<{self.url}{path}?{rest}&page={page + 1}>; rel="next"'} if more else {}
        return 200, link, found[(page - 1) * PAGE : page * PAGE]

    def _made(self, into: list[dict[str, Any]], one: dict[str, Any], name: str) -> tuple[int, dict[str, str], Any]:
        made = {**one, "user": {"type": "Bot"}, "html_url": f"https://github.test/{REPOSITORY}{name}"}
        if len(made["body"]) > 65_536:
            return 422, {}, {"message": "Validation Failed", "errors": [{"message": "Body is too long"}]}
        into.append(made)
        return 201, {}, made

    def _changed(
        self, within: list[dict[str, Any]], key: str, value: int, content: dict[str, Any]
    ) -> tuple[int, dict[str, str], Any]:
        one = next(one for one in within if one[key] == value)
        one |= content
        return 200, {}, {"html_url": f"https://github.test/{key}/{value}"}


@contextmanager
def serving() -> Iterator[StandIn]:
    """Run a stand-in until the block ends."""
    github = StandIn()

    class Answers(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            length = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, content = github.answer(self.command, self.path, headers, self.rfile.read(length))
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**more, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = _handle  # noqa: N815 - names of http.server

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with listening(Answers) as github.url:
        yield github
