"""A cache whose values are made once for all threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, wraps
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


def locked_cache(make: Callable[..., T]) -> Callable[..., T]:
    """Store the result of ``make`` for the same arguments, like ``functools.cache``. Threads that call at the same time
    wait for the first call. With ``functools.cache``, each of them could make a value of its own."""
    lock, kept = Lock(), cache(make)

    @wraps(make)
    def locked(*arguments: Hashable) -> T:
        with lock:
            return kept(*arguments)

    return locked
