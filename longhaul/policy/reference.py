"""The table of rules in docs/policy.md, written from the rules themselves.

python -m longhaul.policy.reference           write it where it is out of date
python -m longhaul.policy.reference --check   only say so, and exit 1
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from longhaul.policy.registry import THEMES
from longhaul.report.markdown import table

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"
BEGIN = "<!-- Written by `python -m longhaul.policy.reference`. Change the rules instead. -->\n"
END = "<!-- End of what is written. -->\n"


def tables() -> str:
    """A table for each theme: rule, reason, source."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for theme, rules in THEMES.items():
        rows = [(f"`{one.id}`{'' if one.waivable else ' (no waiver)'}", one.reason, one.source) for one in rules]
        yield f"\n### {theme}\n\n{table(('Rule', 'What must hold, and why', 'Source'), rows)}"
    yield "\n"


def filled(page: str) -> str:
    """``page`` with the tables between the marks; ``ValueError`` when a mark is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"docs/policy.md: no {BEGIN.strip() if not begin else END.strip()}")
    return f"{before}{begin}{tables()}{end}{after}"


def main(arguments: list[str]) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m longhaul.policy.reference", description="docs/policy.md's tables")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page is out of date")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    wanted = filled(page)
    if page == wanted:
        return 0
    if check:
        sys.stdout.write("docs/policy.md is out of date; run: python -m longhaul.policy.reference\n")
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    sys.stdout.write("docs/policy.md written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
