"""One comment and one issue, which are kept up to date."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longhaul.exits import CommandError
from longhaul.review.github import GitHub
from longhaul.review.text import MARKERS
from tests.longhaul.review.github_stand_in import REPOSITORY, TOKEN, StandIn, serving

MARKER = MARKERS[False]


@pytest.fixture(name="github")
def _github() -> Iterator[StandIn]:
    with serving() as github:
        yield github
        assert github.wrong == []


def client(github: StandIn, *, token: str = TOKEN, slept: list[float] | None = None) -> GitHub:
    waits = [] if slept is None else slept
    return GitHub(repository=REPOSITORY, token=token, api=github.url, sleep=waits.append)


def test_the_first_time_it_is_written_anew(github: StandIn) -> None:
    github.has_comment("a person's")
    where = client(github).comment(7, marker=MARKER, body=f"{MARKER}\none")
    assert where == f"https://github.test/{REPOSITORY}#comment-2"
    assert github.comments[1]["body"] == f"{MARKER}\none"


def test_then_it_is_kept_up_to_date_wherever_it_is(github: StandIn) -> None:
    for number in range(5):
        github.has_comment(f"{number}, quoting {MARKER}")
    client(github).comment(7, marker=MARKER, body=f"{MARKER}\none")
    client(github).comment(7, marker=MARKER, body=f"{MARKER}\ntwo")
    assert [one["body"] for one in github.comments if one["body"].startswith(MARKER)] == [f"{MARKER}\ntwo"]
    assert len(github.comments) == 6


def test_a_strangers_comment_that_looks_so_is_left_alone_where_there_is_ours(github: StandIn) -> None:
    github.has_comment(f"{MARKER}\na stranger's")
    github.has_comment(f"{MARKER}\nours", kind="Bot")
    client(github).comment(7, marker=MARKER, body=f"{MARKER}\nnew")
    assert [one["body"] for one in github.comments] == [f"{MARKER}\na stranger's", f"{MARKER}\nnew"]


def test_no_comment_is_begun_for_nothing(github: StandIn) -> None:
    assert client(github).comment(7, marker=MARKER, body=MARKER, anew=False) is None
    assert github.comments == []
    github.has_comment(f"{MARKER}\nours", kind="Bot")
    assert client(github).comment(7, marker=MARKER, body=f"{MARKER}\nnothing now", anew=False)
    assert github.comments[0]["body"] == f"{MARKER}\nnothing now"


def test_an_issue_is_opened_changed_and_closed(github: StandIn) -> None:
    ours = client(github)
    assert ours.issue(marker=MARKER, title="t", body=f"{MARKER} fine", well=True) is None
    for body in ("one", "two"):
        assert ours.issue(marker=MARKER, title="t", body=f"{MARKER} {body}", well=False)
    assert [(one["body"], one["state"]) for one in github.issues] == [(f"{MARKER} two", "open")]
    ours.issue(marker=MARKER, title="t", body=f"{MARKER} fine", well=True)
    assert github.issues[0]["state"] == "closed"
    ours.issue(marker=MARKER, title="t", body=f"{MARKER} again", well=False)
    assert len(github.issues) == 2


def test_pull_requests_are_no_issues(github: StandIn) -> None:
    github.issues.append({"number": 1, "state": "open", "body": MARKER, "pull_request": {}})
    client(github).issue(marker=MARKER, title="t", body=f"{MARKER} one", well=False)
    assert len(github.issues) == 2


def test_a_server_error_is_asked_again_when_that_writes_nothing_twice(github: StandIn) -> None:
    slept: list[float] = []
    github.answers = [(502, {}, {}), (503, {}, {})]
    client(github, slept=slept).comment(7, marker=MARKER, body=MARKER)
    assert slept == [2.0, 4.0]
    github.comments.clear()
    github.answers = [(200, {}, []), (502, {}, {"message": "Server Error"})]  # type: ignore[list-item]
    with pytest.raises(CommandError, match="502 Server Error"):
        client(github).comment(7, marker=MARKER, body=MARKER)
    assert github.asked[-1].startswith("POST")


def test_it_waits_as_long_as_it_is_told(github: StandIn) -> None:
    slept: list[float] = []
    limit = {"message": "You have exceeded a secondary rate limit"}
    github.answers = [(200, {}, []), (403, {"retry-after": "17"}, limit), (429, {}, limit)]  # type: ignore[list-item]
    client(github, slept=slept).comment(7, marker=MARKER, body=MARKER)
    assert slept == [17.0, 60.0]
    assert len(github.comments) == 1


def test_a_limit_that_lasts_is_an_error(github: StandIn) -> None:
    github.answers = [(429, {"retry-after": "3600"}, {"message": "API rate limit exceeded"})]
    with pytest.raises(CommandError, match="rate limit exceeded"):
        client(github).comment(7, marker=MARKER, body=MARKER)


def test_it_gives_up(github: StandIn) -> None:
    github.answers = [(500, {}, {"message": "no"})] * 4
    with pytest.raises(CommandError, match="500 no"):
        client(github).comment(7, marker=MARKER, body=MARKER)
    assert len(github.asked) == 4


def test_what_is_wrong_is_said_in_words(github: StandIn) -> None:
    with pytest.raises(CommandError, match="the token is not valid"):
        client(github, token="other").comment(7, marker=MARKER, body=MARKER)
    github.answers = [(403, {}, {"message": "Resource not accessible by integration"})]
    with pytest.raises(CommandError, match=r"not accessible by integration: .*pull-requests: write"):
        client(github).comment(7, marker=MARKER, body=MARKER)
    with pytest.raises(CommandError, match="422 Validation Failed; Body is too long"):
        client(github).comment(7, marker=MARKER, body=MARKER + "x" * 65_536)


def test_a_server_that_is_not_there(github: StandIn) -> None:
    nowhere = GitHub(repository=REPOSITORY, token=TOKEN, api="http://127.0.0.1:1", sleep=lambda _: None)
    with pytest.raises(CommandError, match="GitHub does not answer: ConnectionError"):
        nowhere.comment(7, marker=MARKER, body=MARKER)


def test_the_token_is_not_shown(github: StandIn) -> None:
    github.answers = [(403, {}, {"message": "no"})]
    with pytest.raises(CommandError) as caught:
        client(github).comment(7, marker=MARKER, body=MARKER)
    assert TOKEN not in str(caught.value)
