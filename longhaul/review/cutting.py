"""Markdown that is too long, cut so that what is left is whole: no open fence, no open fold."""

from __future__ import annotations

from collections.abc import Iterator


def cut(text: str, room: int) -> str:
    """As many blocks of ``text`` as fit into ``room`` characters, from the top, with a note when that is not all."""
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
    return f"\n_{number:,} parts are left out, for a comment holds no more. `longhaul plan` says it all._\n"


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs; a fence or a fold with all that is in it is one."""
    block, folds, fenced = "", 0, False
    for line in text.splitlines(keepends=True):
        block += line
        if line.startswith("```"):
            fenced = not fenced
        if not fenced:
            folds += line.count("<details>") - line.count("</details>")
        if not fenced and folds <= 0 and not line.strip():
            yield block
            block = ""
    if block:
        yield block
