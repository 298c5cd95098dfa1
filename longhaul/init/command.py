"""``longhaul init``: write a new environment from a few answers."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.project.checkout import Project, find_project
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import Exit

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.init.answers import Answers

HELP = "begin an environment: write a small valid file from a few answers or flags"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``init``: one for each question."""
    from longhaul.init.questions import FIXED

    parser.add_argument("--supernet", metavar="RANGE", help="private range of /16 or larger (default: a free /12)")
    parser.add_argument("--domain", metavar="NAME", help="private DNS zone (default: E.longhaul.internal)")
    parser.add_argument(
        "--administrator-key", metavar="FILE", help="SSH public key of cloud machines: its file, or the key itself"
    )
    for question in FIXED:
        action = "append" if question.many else "store"
        help_ = question.help or question.text
        parser.add_argument(f"--{question.flag}", metavar=question.metavar, action=action, help=help_)
    parser.add_argument(
        "--destroyable", action="store_true", help="allow `longhaul destroy` (size trial: always allowed)"
    )
    parser.add_argument("--force", action="store_true", help="replace existing files")
    parser.add_argument("--yes", "-y", action="store_true", help="ask nothing: use flags and defaults")
    parser.add_argument("--json", action="store_true", help="what was written, for programs")


def run(invocation: Invocation) -> int:
    """Ask, check, write, and print the next steps."""
    from components.model.loading.load import taken_ranges
    from longhaul.init import document
    from longhaul.init.gather import gather
    from longhaul.init.interview import Interview, ask_on_stderr, is_unattended
    from longhaul.init.questions import NAME
    from longhaul.project.stack_file_secrets import encryption
    from longhaul.project.writing import refuse_existing, write

    options = invocation.options
    project = find_project(options.project)
    interview = Interview(options=options, ask=None if is_unattended(options) else ask_on_stderr)
    interview.begin()
    name = interview.answer(NAME)
    source = project.stack_file(name or "")
    refuse_existing(project.stacks, [source.name], force=options.force)
    home = Path(os.environ.get("HOME") or Path.home())
    taken = taken_ranges(project.stacks, but=source)
    answers = gather(interview, name or "e", taken=taken, home=home)
    texts = document.files(answers, encryption=encryption(source))
    environment = write(project.stacks, texts, stack=document.stack_name(answers), force=options.force)
    _say(project, answers, sorted(texts), environment, as_json=options.json)
    return Exit.OK


def _say(project: Project, answers: Answers, names: list[str], environment: Environment, *, as_json: bool) -> None:
    from longhaul.init.next_steps import next_commands, notes
    from longhaul.report.json_output import document
    from longhaul.report.text import table

    written = [str((project.stacks / name).relative_to(project.root)) for name in names]
    following, remarks = next_commands(answers), notes(answers)
    if as_json:
        shown = {
            "environment": environment.name,
            "files": written,
            "content": environment.model_dump(mode="json", exclude_defaults=True),
            "notes": list(remarks),
            "next": [command for command, _ in following],
        }
        print(document(shown))
        return
    print(f"written, and valid: {' and '.join(written)}")
    for note in remarks:
        print(f"  {note}")
    print("\n".join(["next:", *table((), [(command, f"# {why}") for command, why in following], width=None)]))
