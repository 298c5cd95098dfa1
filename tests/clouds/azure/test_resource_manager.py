"""Azure's resource manager: documents, lists, and operations that take long."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from clouds.azure.errors import AzureError
from clouds.azure.resource_manager import ResourceManager
from contract.azure import MANAGEMENT

VM = "/subscriptions/s/virtualMachines/m"
STATUS, RESULT = f"{MANAGEMENT}/operations/1", f"{MANAGEMENT}/operations/1?monitor=true"
ACCEPTED = {"Azure-AsyncOperation": STATUS, "Location": RESULT, "Retry-After": "7"}


@dataclass
class Answer:
    """A response."""

    body: Any = None
    status_code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bool:
        return self.body is not None

    def json(self) -> Any:
        if isinstance(self.body, str):
            raise ValueError(self.body)
        return self.body


class Answers:
    """Gives one answer after the other, and records the requests and the waits."""

    def __init__(self, *answers: Answer | AzureError) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []
        self.waited: list[float] = []

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        self.asked.append((method, url))
        answer = self.answers.pop(0)
        if isinstance(answer, AzureError):
            raise answer
        return answer

    def finished(self, *, since: float | None = None, long_poll: bool = False) -> Answer:
        manager = ResourceManager(self)
        begun = manager.ask("POST", VM, version="1", body={})
        found: Answer = manager.finished(
            begun, what="its start", limit_s=60.0, since=since, long_poll=long_poll, wait=self.waited.append
        )
        return found


def test_a_list_is_read_page_by_page() -> None:
    more = f"{MANAGEMENT}:443{VM}?page=2"
    answers = Answers(Answer({"value": [1, 2], "nextLink": more}), Answer({"value": [3]}))
    assert list(ResourceManager(answers).pages(VM, version="1", filter="a eq 'b'")) == [1, 2, 3]
    assert answers.asked == [("GET", f"{MANAGEMENT}{VM}?api-version=1&$filter=a%20eq%20%27b%27"), ("GET", more)]


@pytest.mark.parametrize("elsewhere", ["https://management.azure.com.example/", "http://management.azure.com/"])
def test_no_token_goes_elsewhere(elsewhere: str) -> None:
    answers = Answers(Answer({"value": [], "nextLink": elsewhere}))
    with pytest.raises(AzureError, match="another address"):
        list(ResourceManager(answers).pages(VM, version="1"))


def test_what_is_not_there_is_none_and_any_other_refusal_an_error() -> None:
    missing, refused = AzureError("no", status=404), AzureError("no", status=403)
    manager = ResourceManager(Answers(missing, refused, Answer("<html>")))
    assert manager.find(VM, version="1") is None
    with pytest.raises(AzureError):
        manager.find(VM, version="1")
    with pytest.raises(AzureError, match="not JSON"):
        manager.get(VM, version="1")


def test_what_has_a_result_is_followed_to_it_as_often_as_azure_wants() -> None:
    answers = Answers(
        Answer(status_code=202, headers=ACCEPTED),
        Answer(status_code=202, headers={"Location": f"{RESULT}&again", "Retry-After": "60"}),
        Answer({"value": "done"}),
    )
    assert answers.finished().json() == {"value": "done"}
    assert [url for _, url in answers.asked[1:]] == [RESULT, f"{RESULT}&again"]
    assert answers.waited == [7.0, 10.0]


def test_what_has_a_status_alone_is_asked_for_it() -> None:
    made = Answer({}, status_code=201, headers={"Azure-AsyncOperation": STATUS})
    answers = Answers(made, Answer({"status": "InProgress"}), Answer({"status": "Succeeded"}))
    answers.finished()
    assert [url for _, url in answers.asked[1:]] == [STATUS, STATUS]
    failed = Answers(made, Answer({"status": "Failed", "error": {"code": "AllocationFailed", "message": "no room"}}))
    with pytest.raises(AzureError, match="its start: AllocationFailed: no room") as raised:
        failed.finished()
    assert (raised.value.code, raised.value.cloud_message) == ("AllocationFailed", "no room")


def test_what_is_done_at_once_is_not_asked_for_again() -> None:
    answers = Answers(Answer({"value": "done"}, headers={"Location": RESULT}))
    assert answers.finished().json() == {"value": "done"}
    assert answers.answers == []


def test_what_does_not_end_is_an_error() -> None:
    with pytest.raises(AzureError, match="did not end within 60 s") as raised:
        Answers(Answer(status_code=202, headers=ACCEPTED)).finished(since=time.monotonic() - 61)
    assert raised.value.code == "TimedOut"


def test_nothing_is_waited_for_where_the_server_holds_its_answer_back() -> None:
    held, not_held = {"Preference-Applied": "wait=5"}, {"Retry-After": "2"}
    under_way = [Answer({"status": "InProgress"}, headers=headers) for headers in (held, not_held)]
    made = Answer({}, status_code=201, headers={"Azure-AsyncOperation": STATUS})
    answers = Answers(made, *under_way, Answer({"status": "Succeeded"}))
    answers.finished(long_poll=True)
    assert answers.waited == [0.0, 0.0, 2.0]
