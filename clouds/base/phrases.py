"""Functions that format lists, counts and names to choose from, for sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def word_list(words: Sequence[str]) -> str:
    """Return the words as ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def suggestion(known: Iterable[str], given: str) -> str:
    """Return what to write instead of ``given``, with the closest known name first."""
    names = sorted(known)
    if not names:
        return "nothing: there is none to choose"
    close = get_close_matches(given, names, n=1)
    if len(names) == 1:
        return names[0]
    return f"{close[0]} (or one of: {', '.join(names)})" if close else f"one of: {', '.join(names)}"


def counted(number: int, noun: str, *, none: str = "0") -> str:
    """Return ``1 node``, ``2 nodes``, ``7,500 nodes``; ``none`` is written for 0."""
    return f"{f'{number:,}' if number else none} {noun}{'' if number == 1 else 's'}"


def names(where: Iterable[str], *, most: int = 3) -> str:
    """Return a few names, and the number of further ones."""
    listed = list(where)
    shown, rest = listed[:most], len(listed) - most
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")
