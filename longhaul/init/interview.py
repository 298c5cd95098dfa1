"""Collects answers: from flags first, then from a person at a terminal, then from defaults."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from longhaul.init import parsing
from longhaul.init.questions import InterviewQuestion
from longhaul.report.text import wrapped
from longhaul.terminal.exits import CommandError, Exit

AnswerT = TypeVar("AnswerT")


def ask_on_stderr(prompt: str) -> str:
    """Ask a person for one line. The prompt goes to stderr, so that stdout stays clean for programs."""
    print(prompt, end="", file=sys.stderr, flush=True)
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        print("\nlonghaul: nothing was written", file=sys.stderr)
        raise
    if not line:
        raise CommandError("the answers ended before the questions; nothing was written", code=Exit.USAGE)
    return line.strip()


@dataclass(frozen=True, kw_only=True)
class Interview:
    """One run of questions."""

    options: argparse.Namespace
    ask: Callable[[str], str] | None
    """Asks a person; None when there is nobody to ask."""
    problems: list[str] = field(default_factory=list)
    """Wrong and missing flags; all are reported together at the end."""

    def begin(self) -> None:
        """Tell a person how the interview works."""
        if self.ask is not None:
            print("Enter accepts the answer in [brackets]; Ctrl-C writes nothing.", file=sys.stderr)

    def check_flags(self, questions: Iterable[InterviewQuestion[Any]]) -> None:
        """Check flags before the first question. Raise ``CommandError`` when a flag is wrong. When there is nobody to
        ask, wrong flags are reported later, together with missing flags."""
        if self.ask is not None:
            for question in questions:
                for text in self._flag(question):
                    self._parsed(question, text)
            self.finish()

    def is_given(self, question: InterviewQuestion[Any]) -> bool:
        """Return whether a flag answers the question."""
        return bool(self._flag(question))

    def answer(self, question: InterviewQuestion[AnswerT]) -> AnswerT:
        """Return the answer. It must not be used if there are ``problems``."""
        for text in self._flag(question):
            return self._parsed(question, text)
        if self.ask is not None:
            return self._asked(question, self.ask)
        if question.default:
            return self._parsed(question, question.default)
        self.problems.append(f"--{question.flag} {question.metavar} is missing")
        return cast(AnswerT, None)

    def given(self, question: InterviewQuestion[AnswerT]) -> AnswerT | None:
        """Return the answer from its flag; None without the flag. Never ask."""
        return self.answer(question) if self.is_given(question) else None

    def given_several(self, question: InterviewQuestion[AnswerT]) -> tuple[AnswerT, ...]:
        """Return the answers from flags; empty without them. Never ask. Invalid answers are left out."""
        parsed = [self._parsed(question, text) for text in self._flag(question)]
        return tuple(answer for answer in parsed if answer is not None)

    def answers(
        self, question: InterviewQuestion[AnswerT], *, least: int = 1, most: int | None = None
    ) -> tuple[AnswerT, ...]:
        """Return all answers to a question that takes several."""
        texts = self._flag(question)
        if texts or self.ask is None:
            if len(texts) < least:
                self.problems.append(f"--{question.flag} {question.metavar} is missing")
            if most is not None and len(texts) > most:
                self.problems.append(f"--{question.flag} is given {len(texts)} times: at most {most}")
            return self.given_several(question)
        return self._asked_for_lines(question, self.ask, least=least, most=most)

    def wants(self, text: str, flags: Sequence[InterviewQuestion[Any]]) -> bool:
        """Return whether an optional part is wanted: one of its flags is given, or the person says yes."""
        if any(self.is_given(question) for question in flags):
            return True
        if self.ask is None:
            return False
        return self._asked(InterviewQuestion(flag="", metavar="", text=text, parse=parsing.yes, default="no"), self.ask)

    def finish(self) -> None:
        """Raise ``CommandError`` with everything that is wrong or missing."""
        if not self.problems:
            return
        lines = [f"  {problem}" for problem in self.problems]
        if self.ask is None:
            lines.append("on a terminal and without --yes, `longhaul init` asks for it")
        raise CommandError("\n".join(["nothing was written:", *lines]), code=Exit.USAGE)

    def _flag(self, question: InterviewQuestion[Any]) -> Sequence[str]:
        texts = getattr(self.options, question.dest, None)
        if not texts:
            return ()
        return (texts,) if isinstance(texts, str) else tuple(texts)

    def _parsed(self, question: InterviewQuestion[AnswerT], text: str) -> AnswerT:
        try:
            return question.parse(text)
        except ValueError as error:
            self.problems.append(f"--{question.flag}: {error}")
            return cast(AnswerT, None)

    def _asked(self, question: InterviewQuestion[AnswerT], ask: Callable[[str], str]) -> AnswerT:
        default = f" [{question.default}]" if question.default else ""
        while True:
            text = ask(f"{question.text}{default}: ") or question.default
            try:
                return question.parse(text)
            except ValueError as error:
                _reject(error if text else "it needs an answer")

    def _asked_for_lines(
        self, question: InterviewQuestion[AnswerT], ask: Callable[[str], str], *, least: int, most: int | None
    ) -> tuple[AnswerT, ...]:
        answers: list[AnswerT] = []
        print(f"{question.text}\n  one a line, an empty line ends", file=sys.stderr)
        while most is None or len(answers) < most:
            text = ask("  > ")
            if not text and len(answers) >= least:
                break
            try:
                answers.append(question.parse(text))
            except ValueError as error:
                _reject(error if text else f"at least {least}")
        return tuple(answers)


def _reject(why: object) -> None:
    print("\n".join(wrapped(str(why), indent="  ")), file=sys.stderr)


def is_unattended(options: argparse.Namespace) -> bool:
    """Return whether there is nobody to ask."""
    return bool(options.yes) or not sys.stdin.isatty()
