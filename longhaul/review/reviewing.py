"""Reviews a change in a repository: finds the affected environments, validates their files and plans them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from clouds.base.phrases import counted
from contract.project import PROJECT_FILE, STACKS
from longhaul.judgement.resource_lines import WORDS
from longhaul.project.checkout import Project
from longhaul.report.text import seen_from
from longhaul.review.affected_environments import Affected, ChangedFile, Side, affected_environments, environments_at
from longhaul.review.git import Repository
from longhaul.review.outcome import EnvironmentReview, Review, ReviewOutcome, in_order
from longhaul.review.planner import Planned, Planner, ReviewPlanError, Summary


@dataclass(frozen=True, kw_only=True)
class Reviewer:
    """Reviews one project."""

    project: Project
    planner: Planner | None
    """None to make no plans and only validate the files."""
    fork: bool = False
    only: str | None = None
    """Name of the only environment to review; None for all."""

    def change(self, ref: str) -> Review:
        """Review what the change since the merge base with ``ref``, in the work tree, does to each environment. Its
        plans run the change's own code."""
        repository = Repository(root=self.project.root)
        base = repository.merge_base(ref)
        before, after = _environments(repository, base), self._now()
        affected = affected_environments(repository.changed(base), before=before, after=after)
        with tempfile.TemporaryDirectory(prefix="longhaul-base-") as folder:
            entries = self._entries(affected, repository, base=base, before=before, folder=Path(folder))
        return self._review(affected, entries, base=f"{ref} ({base[:12]})", commit=repository.head())

    def commit(self, ref: str, commit: str) -> Review:
        """Review what a merge of ``commit``, which is fetched and not checked out, into ``ref`` does to each
        environment. All that runs is the code of the work tree: of the merge, only files of environments and prices are
        read. A commit that changes code is not planned, because the plan would be of this code and not of its."""
        repository = Repository(root=self.project.root)
        base, merge = repository.merge(ref, commit)
        before, after = _environments(repository, base), _environments(repository, merge)
        changed = repository.changed(base, merge)
        affected = affected_environments(changed, before=before, after=after)
        with tempfile.TemporaryDirectory(prefix="longhaul-change-") as folder:
            if affected.code:
                entries = [_unplanned(env) for env in affected.environments if self._wanted(env)]
                entries += self._deleted_entries(affected)
            else:
                project = _with_files_of(repository, merge, changed, self.project, Path(folder) / "project")
                reviewer = replace(self, project=project)
                entries = reviewer._entries(affected, repository, base=base, before=before, folder=Path(folder))
        return self._review(affected, entries, base=base[:12], commit=commit)

    def drift(self) -> Review:
        """Review how each environment in the clouds differs from its file."""
        environments = [env for env in self.project.environments() if self._wanted(env)]
        return Review(
            base="what is declared",
            commit=Repository(root=self.project.root).head()[:12],
            drift=True,
            environments=in_order([self._entry(env, base=None, drift=True) for env in environments]),
        )

    def _review(self, affected: Affected, entries: list[EnvironmentReview], *, base: str, commit: str) -> Review:
        return Review(base=base, commit=commit[:12], fork=self.fork, code=affected.code, environments=in_order(entries))

    def _entries(
        self, affected: Affected, repository: Repository, *, base: str, before: Side, folder: Path
    ) -> list[EnvironmentReview]:
        entries = self._deleted_entries(affected)
        for env in affected.environments:
            if self._wanted(env):
                file = _base_file(repository, base, env, before=before, folder=folder / env)
                entries.append(self._entry(env, base=file, drift=False))
        return entries

    def _deleted_entries(self, affected: Affected) -> list[EnvironmentReview]:
        return [_deleted(env) for env in affected.deleted if self._wanted(env)]

    def _wanted(self, env: str) -> bool:
        return self.only is None or env == self.only

    def _now(self) -> Side:
        """Return the environment files of the work tree."""
        root = self.project.root
        paths = [str(path.relative_to(root)) for path in sorted(self.project.stacks.glob("Pulumi.*.yaml"))]
        return environments_at(paths, lambda path: _text(root / path))

    def _entry(self, env: str, *, base: Path | None, drift: bool) -> EnvironmentReview:
        wrong = _problems(self.project, env)
        if wrong:
            message = f"{counted(len(wrong), 'problem')} in its file"
            return EnvironmentReview(name=env, outcome=ReviewOutcome.INVALID, reason=message, report="\n".join(wrong))
        if self.planner is None:
            return EnvironmentReview(name=env, outcome=ReviewOutcome.VALID, reason="its file is valid")
        try:
            planned = self.planner(env, project=self.project, base=base, drift=drift)
        except ReviewPlanError as error:
            message = "no plan could be made, so the effect of the change is unknown"
            return EnvironmentReview(name=env, outcome=ReviewOutcome.FAILED, reason=message, report=str(error))
        return _drifted(env, planned) if drift else _planned(env, planned)


def _deleted(env: str) -> EnvironmentReview:
    message = (
        f"its file is deleted; its machines keep running, and nothing manages them any more. CI destroys nothing: run "
        f"`longhaul destroy --env {env}` before this is merged, or keep the file"
    )
    return EnvironmentReview(name=env, outcome=ReviewOutcome.DELETED, reason=message)


def _unplanned(env: str) -> EnvironmentReview:
    message = (
        "only the change's own code can make its plan, in the check `preview`. That is the change's own word, so "
        "whoever approves it reads the code"
    )
    return EnvironmentReview(name=env, outcome=ReviewOutcome.CODE, reason=message)


def _planned(env: str, planned: Planned) -> EnvironmentReview:
    summary = planned.summary
    return EnvironmentReview(name=env, outcome=summary.verdict, reason=_summary_line(summary), plan=planned.markdown)


def _drifted(env: str, planned: Planned) -> EnvironmentReview:
    if not planned.has_state:
        return EnvironmentReview(
            name=env, outcome=ReviewOutcome.ABSENT, reason="the backend has no stack of it, so nothing is compared"
        )
    if not _counted(planned.summary):
        return EnvironmentReview(
            name=env, outcome=ReviewOutcome.AS_DECLARED, reason=f"nothing differs; {planned.summary.against}"
        )
    return EnvironmentReview(
        name=env, outcome=ReviewOutcome.DIFFERS, reason=_summary_line(planned.summary), plan=planned.markdown
    )


def _summary_line(summary: Summary) -> str:
    """Return the gravest finding, the number of further findings, and the numbers of resources by action."""
    counts = _counted(summary) or "nothing changes"
    reasons = [reason for reason in (*summary.reasons, *summary.policy) if reason.level is summary.verdict]
    if summary.verdict in (ReviewOutcome.SAFE, ReviewOutcome.NEW) or not reasons:
        return f"{counts}; {summary.against}"
    more = f" And {len(reasons) - 1} more." if len(reasons) > 1 else ""
    return f"{reasons[0].what}{more} ({counts}; {summary.against})"


def _counted(summary: Summary) -> str:
    """Return the number of resources by action as text; empty when nothing happens."""
    counts = [f"{summary.counts[action]:,} {word}" for action, word in WORDS.items() if summary.counts.get(action)]
    return ", ".join(counts)


def _problems(project: Project, env: str) -> tuple[str, ...]:
    """Return one text for each problem, with paths relative to the project; empty when the file is valid."""
    from components.model import ConfigurationError

    try:
        project.load(env)
    except ConfigurationError as error:
        relative = [
            replace(problem, file=str(seen_from(project.root, Path(problem.file)))) for problem in error.problems
        ]
        return tuple(str(problem).replace(f"{project.root}/", "") for problem in relative)
    return ()


def _environments(repository: Repository, tree: str) -> Side:
    return environments_at(repository.files(tree, STACKS), lambda path: repository.text(tree, path))


def _with_files_of(
    repository: Repository, tree: str, changed: Iterable[ChangedFile], project: Project, root: Path
) -> Project:
    """Write a copy of ``project`` into ``root``, in which the changed files of its folder of stacks are as ``tree`` has
    them. All of them are data: regular files of an environment, or prices."""
    root.mkdir(parents=True)
    shutil.copyfile(project.root / PROJECT_FILE, root / PROJECT_FILE)
    copy = Project(root=root)
    shutil.copytree(project.stacks, copy.stacks, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
    for file in changed:
        if Path(file.path).parent != Path(STACKS):
            continue
        path = root / file.path
        path.unlink(missing_ok=True)
        content = repository.content(tree, file.path)
        if content is not None:
            path.write_bytes(content)
    return copy


def _base_file(repository: Repository, commit: str, env: str, *, before: Side, folder: Path) -> Path | None:
    """Write the environment's file at ``commit``, and the hosts file that it names, into ``folder``. Return None when
    there was no file or it was invalid, so that there is nothing to compare with."""
    from components.model import ConfigurationError, load

    names = [f"{STACKS}/Pulumi.{env}.yaml", before.get(env)]
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = repository.text(commit, name) if name is not None else None
        if name is not None and text is not None:
            # Only the last part of the name: a hosts file is beside its environment, and nothing is written elsewhere.
            (folder / Path(name).name).write_text(text, encoding="utf-8")
    path = folder / f"Pulumi.{env}.yaml"
    if not path.is_file():
        return None
    try:
        load(path)
    except ConfigurationError:
        return None
    return path


def _text(path: Path) -> str:
    """Return the text of an environment's file; empty when it is not a text file, which the environment's own entry
    reports."""
    from components.model.loading.document import read_source
    from components.model.loading.errors import ConfigurationError

    try:
        return read_source(path)
    except ConfigurationError:
        return ""
