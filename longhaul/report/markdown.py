"""Renders Markdown for a comment on GitHub: escaped text, tables, folds, and shortening of long text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from clouds.base.findings import Severity

LONGEST = 65_536
"""Maximum length of a comment, characters. Above it, GitHub answers "Body is too long (maximum is 65536
characters)"."""

SIGNS = {Severity.OK: "✅", Severity.UNKNOWN: "➖", Severity.WARNING: "⚠️", Severity.PROBLEM: "⛔"}


def plain(text: str) -> str:
    """Escape text so that GitHub shows it literally: no tag, link or mention, and no end of a table's cell. Code stays
    code."""
    text = re.sub(r"`{2,}", "'", text.replace("\n", " "))
    parts = text.split("`") if text.count("`") % 2 == 0 else [text.replace("`", "'")]
    return "`".join(_escaped(part) if index % 2 == 0 else part for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([|*_\[\]\\#])", r"\\\1", text).replace("@", "@\u200b")


def code(text: str) -> str:
    """Return ``text`` in a form that is valid between two backticks."""
    return text.replace("`", "'").replace("\n", " ")


def inert(text: str) -> str:
    """Return a name without characters for code, tags, mentions or line breaks, so that it is safe in Markdown and
    HTML."""
    return re.sub(r"[`<>&\n@]", "'", text)


def fenced(text: str) -> str:
    """Return ``text`` as a fenced block of code, with a fence that the text does not contain."""
    inside = text.replace("```", "'''")
    return f"```text\n{inside}\n```\n"


def fold(summary: str, body: str) -> str:
    """Return a summary line that unfolds to ``body``. The ``body`` ends with a line break."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n</details>\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Return a table. Its cells are already Markdown; columns whose numbers are in ``right`` are right-aligned."""
    line = ["---:" if column in right else "---" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, line, *rows))


def cut(text: str, room: int) -> str:
    """Return as many blocks of ``text`` as fit into ``room`` characters, from the top, with a note when some are left
    out. Blocks stay whole, so every fence and fold is closed."""
    if len(text) <= room:
        return text
    kept = ""
    blocks = list(_blocks(text))
    left = room - len(_note(len(blocks)))
    shown = 0
    for block in blocks:
        if len(block) <= left:
            kept, left, shown = kept + block, left - len(block), shown + 1
    note = _note(len(blocks) - shown)
    return kept + note if len(kept) + len(note) <= room else ""


def _note(number: int) -> str:
    return f"\n_{number:,} parts are left out, since a comment holds no more. `longhaul plan` shows everything._\n"


def _blocks(text: str) -> Iterator[str]:
    """Yield the paragraphs. A fence or a fold is one paragraph with its whole content."""
    block, folds, inside = "", 0, False
    for line in text.splitlines(keepends=True):
        block += line
        if line.startswith("```"):
            inside = not inside
        if not inside:
            folds += line.count("<details>") - line.count("</details>")
        if not inside and folds <= 0 and not line.strip():
            yield block
            block = ""
    if block:
        yield block
