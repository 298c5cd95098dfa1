"""The document store: ids without regard to case, transactions, notification."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lab.cloud.store import DocumentStore


def test_ids_compare_without_case_and_keep_theirs(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path / "s.sqlite")
    store.put("/A/b", type="T", body={"x": 1})
    store.put("/a/B", type="t", body={"x": 2})
    found = store.get("/a/b")
    assert found is not None
    assert (found.id, found.type, found.body) == ("/A/b", "T", {"x": 2})
    assert [document.id for document in store.below("/a")] == ["/A/b"]
    assert store.below("/a/b") == []


def test_below_takes_names_literally(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path / "s.sqlite")
    store.put("/a_b/c", type="T", body={})
    store.put("/axb/c", type="T", body={})
    assert [document.id for document in store.below("/a_b")] == ["/a_b/c"]


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path / "s.sqlite")
    store.put("/a", type="T", body={})
    before = store.revision

    def both() -> None:
        with store.transaction():
            store.put("/b", type="T", body={})
            store.delete("/a")
            raise KeyError

    with pytest.raises(KeyError):
        both()
    assert store.get("/a") is not None
    assert store.get("/b") is None
    assert store.revision == before


def test_another_life_reads_what_was_written(tmp_path: Path) -> None:
    first = DocumentStore(tmp_path / "s.sqlite")
    written = first.put("/a", type="T", body={"x": [1]}, hidden={"y": 2})
    first.set_record("kind", "key", {"z": 3})
    second = DocumentStore(tmp_path / "s.sqlite")
    assert second.get("/a") == written
    assert second.records("kind") == {"key": {"z": 3}}


def test_who_waits_is_woken(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = DocumentStore(tmp_path / "s.sqlite")
        seen = store.revision
        waiting = asyncio.create_task(store.wait_changed(seen))
        await asyncio.sleep(0)
        assert not waiting.done()
        with store.transaction():
            store.put("/a", type="T", body={})
            store.put("/b", type="T", body={})
        assert await asyncio.wait_for(waiting, 5) == seen + 1
        assert await store.wait_changed(seen) == seen + 1

    asyncio.run(scenario())
