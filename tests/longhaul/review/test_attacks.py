"""Changes that try to pass the required check without a plan, and the harmless twins of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longhaul.review.outcome import Review, ReviewOutcome
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.review.conftest import Checkout, Plans

BOTH = ["dev", "two"]
CODE = "import os; os.system('id')\n"


def names(review: Review) -> list[str]:
    return sorted(entry.name for entry in review.environments)


def link(checkout: Checkout) -> None:
    (checkout.path / "docs/read.md").unlink()
    (checkout.path / "docs/read.md").symlink_to("../stacks/__main__.py")


def folder_link(checkout: Checkout) -> None:
    (checkout.path / "docs/all").symlink_to("..")


def rename(checkout: Checkout) -> None:
    checkout.git("mv", "stacks/__main__.py", "docs/main.py")


def hosts_file_and_module_at_once(checkout: Checkout) -> None:
    """`bare_metal` may be any plain name, and this text is valid as YAML and as Python."""
    checkout.write("stacks/yaml.py", "hosts: [__import__('os').system('id')]\n")
    checkout.change("two", checkout.read("two") | {"bare_metal": "yaml.py"})


def prices_as_hosts_file(checkout: Checkout) -> None:
    checkout.write("stacks/prices.yaml")
    checkout.change("two", checkout.read("two") | {"bare_metal": "prices.yaml"})
    (checkout.path / "stacks/prices.yaml").chmod(0o755)


def submodule(checkout: Checkout) -> None:
    commit = checkout.git("rev-parse", "HEAD")
    checkout.git("update-index", "--add", "--cacheinfo", f"160000,{commit},docs/module")
    (checkout.path / "docs/module").mkdir()


def submodule_that_asks_to_be_ignored(checkout: Checkout) -> None:
    """It is there already, and the base's ``.gitmodules`` asks git not to look."""
    checkout.git("checkout", "--quiet", "main")
    checkout.write(".gitmodules", '[submodule "m"]\n\tpath = docs/module\n\turl = ./\n\tignore = all\n')
    checkout.git("add", ".gitmodules")
    submodule(checkout)
    checkout.git("commit", "--quiet", "--message", "a submodule")
    checkout.git("checkout", "--quiet", "-B", "change")
    commit = checkout.git("rev-parse", "HEAD")
    checkout.git("update-index", "--cacheinfo", f"160000,{commit},docs/module")


def tag_with_the_name_of_the_base(checkout: Checkout) -> None:
    """git prefers a tag to a branch of the same name, so that nothing would differ."""
    checkout.write("stacks/components/__init__.py", CODE)
    checkout.commit()
    checkout.git("tag", "main")


PATHS = (
    # Modules of the program's folder come before installed packages, in every plan and apply.
    "stacks/components/__init__.py",
    "stacks/components.py",
    "stacks/yaml.py",
    "stacks/sitecustomize.py",
    "stacks/usercustomize.py",
    "stacks/deep/er/x.py",
    "stacks/x.pth",
    "stacks/x.so",
    # Modules at the top, which is on Python's path too.
    "yaml.py",
    "pulumi.py",
    "pulumi/__init__.py",
    "sitecustomize.py",
    "conftest.py",
    "docs.py",
    "tests.py",
    # The program, the reviewer and what starts them.
    "longhaul/review/git.py",
    "services/node_controller/x.py",
    "contract/x.py",
    "lab/bootstrap.sh",
    "pyproject.toml",
    "requirements-dev.lock",
    "Makefile",
    ".github/workflows/review.yml",
    ".github/workflows/new.yml",
    ".github/actions/prepare/action.yml",
    ".github/CODEOWNERS",
    # Files that tools look for.
    "ansible.cfg",
    "pip.conf",
    ".netrc",
    ".env",
    ".gitattributes",
    ".gitmodules",
    ".gitignore",
    "docs/.gitattributes",
    "docs/.git-x/config",
    ".pulumi/x",
    ".venv/bin/python",
    # Stack files of nobody, and names that only look like those that narrow.
    "stacks/Pulumi.yaml",
    "stacks/Pulumi.nobody-objects.yaml",
    "stacks/Pulumi.-objects.yaml",
    "stacks/pulumi.dev.yaml",
    "stacks/Pulumi.dev.yml",
    "stacks/Pulumi.dev.yaml ",
    "stacks/sub/Pulumi.dev.yaml",
    "Stacks/Pulumi.dev.yaml",
    "Docs/read.md",
    "docs /read.md",
    "docs/line\nbreak.md",
    "docs/ü.md",
    "readme.md",
    "README.md.py",
    "deep/README.md",
)

ATTACKS: dict[str, Callable[[Checkout], None]] = {
    **{path: lambda checkout, path=path: checkout.write(path, CODE) for path in PATHS},  # type: ignore[misc]
    **{
        attack.__name__: attack
        for attack in (
            link,
            folder_link,
            rename,
            hosts_file_and_module_at_once,
            submodule,
            submodule_that_asks_to_be_ignored,
            tag_with_the_name_of_the_base,
        )
    },
}


def commit(checkout: Checkout) -> None:
    # Also what the change's own `.gitignore` names.
    if checkout.git("status", "--porcelain", "--ignored", "--ignore-submodules=none"):
        checkout.git("add", "--all", "--force", "--", ".", ":!docs/module")
        checkout.git("commit", "--quiet", "--message", "a change")


@pytest.mark.parametrize("attack", ATTACKS)
def test_code_affects_every_environment(attack: str, checkout: Checkout) -> None:
    ATTACKS[attack](checkout)
    commit(checkout)
    plans = Plans()
    review = checkout.proposed(plans)
    assert {entry.name: entry.outcome for entry in review.environments} == dict.fromkeys(BOTH, ReviewOutcome.CODE)
    assert review.code
    assert plans.asked == {}
    checkout.git("checkout", "--quiet", "--force", "change")
    assert names(checkout.review(Plans())) == BOTH


@pytest.mark.parametrize("attack", ["stacks/yaml.py", "link"])
def test_code_that_was_not_committed_affects_every_environment(attack: str, checkout: Checkout) -> None:
    ATTACKS[attack](checkout)
    assert names(checkout.review(Plans())) == BOTH


def test_prices_are_data_of_every_environment(checkout: Checkout) -> None:
    checkout.write("stacks/prices.yaml", "prices: []\n")
    checkout.commit()
    plans = Plans()
    assert names(checkout.proposed(plans)) == BOTH
    assert [files["prices.yaml"] for files in plans.projects.values()] == ["prices: []\n"] * 2
    (checkout.path / "stacks/prices.yaml").unlink()
    (checkout.path / "stacks/prices.yaml").symlink_to("../docs/read.md")
    checkout.commit()
    assert checkout.proposed(plans).code == ("stacks/prices.yaml",)


def test_prices_stay_everybodys_when_a_file_names_them_as_its_hosts(checkout: Checkout) -> None:
    prices_as_hosts_file(checkout)
    checkout.commit()
    assert names(checkout.proposed(Plans())) == BOTH


def test_a_change_outside_the_project_affects_every_environment(checkout: Checkout) -> None:
    inner = Checkout(path=checkout.path / "infra")
    checkout.git("checkout", "--quiet", "main")
    (checkout.path / "infra").mkdir()
    checkout.git("mv", "Pulumi.yaml", "stacks", "infra/")
    checkout.commit()
    checkout.git("checkout", "--quiet", "-B", "change")
    checkout.write("docs/read.md", "other\n")
    assert names(inner.review(Plans())) == BOTH
    checkout.commit()
    assert inner.proposed().code == ("/docs/read.md",)
    checkout.git("reset", "--quiet", "--hard", "main")
    inner.write("docs/read.md", "other\n")
    checkout.commit()
    assert inner.proposed().environments == ()


def test_documents_and_tests_affect_nothing(checkout: Checkout) -> None:
    for path in ("docs/read.md", "docs/new/picture.png", "tests/a/test_b.py", "README.md", "examples/Pulumi.a.yaml"):
        checkout.write(path, "other\n")
    (checkout.path / "docs/read.md").chmod(0o755)
    checkout.commit()
    review = checkout.proposed(Plans())
    assert (review.environments, review.code, review.exit_code) == ((), (), Exit.OK)


def test_files_of_an_environment_affect_that_one_and_the_bases_code_plans_them(checkout: Checkout) -> None:
    before = (checkout.path / "stacks/Pulumi.two.yaml").read_text(encoding="utf-8")
    checkout.resize("two", 3)
    checkout.write("docs/read.md", "other\n")
    checkout.commit()
    after = (checkout.path / "stacks/Pulumi.two.yaml").read_text(encoding="utf-8")
    plans = Plans()
    review = checkout.proposed(plans)
    assert [(entry.name, entry.outcome) for entry in review.environments] == [("two", ReviewOutcome.SAFE)]
    assert plans.asked == {"two": before}
    assert plans.projects["two"]["Pulumi.two.yaml"] == after != before
    program = (checkout.path / "stacks/__main__.py").read_text(encoding="utf-8")
    assert plans.projects["two"]["__main__.py"] == program


def test_the_files_are_planned_beside_what_the_default_branch_has_now(checkout: Checkout) -> None:
    checkout.resize("two", 3)
    checkout.commit()
    checkout.git("checkout", "--quiet", "main")
    checkout.resize("dev", 5)
    checkout.write("stacks/__main__.py", "newer\n")
    checkout.commit()
    checkout.git("checkout", "--quiet", "change")
    plans = Plans()
    assert names(checkout.proposed(plans)) == ["two"]
    assert plans.projects["two"]["__main__.py"] == "newer\n"
    main = checkout.git("show", "main:stacks/Pulumi.dev.yaml")
    assert plans.projects["two"]["Pulumi.dev.yaml"].strip() == main


def test_a_new_environment_with_its_hosts_and_a_deleted_one(checkout: Checkout) -> None:
    hosts = (checkout.path / "stacks/hosts.lab.yaml").read_text(encoding="utf-8")
    checkout.write("stacks/hosts.new.yaml", hosts)
    new = checkout.read("dev") | {"name": "new", "bare_metal": "hosts.new.yaml"}
    checkout.change("new", new)
    (checkout.path / "stacks/Pulumi.two.yaml").unlink()
    checkout.commit()
    review = checkout.proposed(Plans())
    assert {entry.name: entry.outcome for entry in review.environments} == {
        "new": ReviewOutcome.INVALID,
        "two": ReviewOutcome.DELETED,
    }
    assert "overlaps" in review.environments[0].report
    assert review.code == ()


def test_an_invalid_file_is_refused_by_the_bases_code(checkout: Checkout) -> None:
    checkout.change("two", checkout.read("two") | {"supernet": "nonsense"})
    checkout.commit()
    plans = Plans()
    assert checkout.proposed(plans).exit_code == Exit.REFUSED
    assert plans.asked == {}


def test_a_forks_code_is_neither_planned_nor_merged(checkout: Checkout) -> None:
    checkout.write("stacks/components/__init__.py", CODE)
    checkout.commit()
    assert checkout.proposed(fork=True).exit_code == Exit.FAILED


def test_a_data_file_of_many_bytes_that_are_no_text(checkout: Checkout) -> None:
    (checkout.path / "stacks/Pulumi.two.yaml").write_bytes(os.urandom(1 << 16))
    checkout.commit()
    (entry,) = checkout.proposed(Plans()).environments
    assert (entry.name, entry.outcome) == ("two", ReviewOutcome.INVALID)


def test_what_main_removed_does_not_come_back_unseen(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two merge bases, one of which has the removed file, nothing differs from that one. git names the later one
    first, and dates are the author's to choose."""
    checkout.git("checkout", "--quiet", "main")
    checkout.write("stacks/yaml.py", CODE)
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "earlier")
    checkout.write("docs/read.md", "earlier\n")
    with monkeypatch.context() as dated:
        dated.setenv("GIT_COMMITTER_DATE", "2033-01-01T00:00:00Z")
        checkout.commit()
    checkout.git("checkout", "--quiet", "main")
    (checkout.path / "stacks/yaml.py").unlink()
    checkout.commit()
    removal = checkout.git("rev-parse", "HEAD")
    checkout.git("merge", "--quiet", "--no-edit", "earlier")
    assert not (checkout.path / "stacks/yaml.py").exists()
    checkout.git("checkout", "--quiet", "-B", "change", "earlier")
    checkout.git("merge", "--quiet", "--no-edit", "--strategy=ours", removal)
    bases = checkout.git("merge-base", "--all", "main", "change").splitlines()
    assert sorted(bases) == sorted([removal, checkout.git("rev-parse", "earlier")])
    assert checkout.git("diff", "--name-only", "earlier", "change") == ""
    review = checkout.proposed(Plans())
    assert review.code == ("stacks/yaml.py",)
    assert names(review) == BOTH


def test_a_change_that_conflicts_passes_nothing(checkout: Checkout) -> None:
    checkout.write("docs/read.md", "ours\n")
    checkout.commit()
    checkout.git("checkout", "--quiet", "main")
    checkout.write("docs/read.md", "theirs\n")
    checkout.commit()
    checkout.git("checkout", "--quiet", "change")
    with pytest.raises(CommandError, match="it conflicts"):
        checkout.proposed(Plans())


@pytest.mark.parametrize(
    "config",
    [
        {"longhaul:objects-of": "dev"},
        {"longhaul:objects-of": "two", "kubernetes:kubeconfig": "elsewhere"},
        {},
    ],
)
def test_a_second_stack_is_of_its_own_environment(config: dict[str, str], checkout: Checkout) -> None:
    """Its plan is left out of reviews, so that a change of another environment's cluster would be called safe."""
    checkout.write("stacks/Pulumi.two-objects.yaml", json.dumps({"config": config}))
    checkout.commit()
    plans = Plans()
    review = checkout.proposed(plans)
    assert {entry.name: entry.outcome for entry in review.environments} == {"two": ReviewOutcome.INVALID}
    assert "longhaul:objects-of: two" in review.environments[0].report
    assert plans.asked == {}
    checkout.write("stacks/Pulumi.two-objects.yaml", json.dumps({"config": {"longhaul:objects-of": "two"}}))
    checkout.commit()
    assert checkout.proposed(plans).worst is ReviewOutcome.SAFE


@pytest.mark.parametrize(("stack", "refused"), [("two-objects", True), ("two", True), ("nobody-objects", False)])
def test_the_program_declares_objects_in_their_own_stack_alone(stack: str, refused: bool, root: Path) -> None:
    script = f"""\
import runpy
import pulumi
class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args): return [args.name, args.inputs]
    def call(self, args): return {{}}
pulumi.runtime.set_mocks(Mocks(), project="longhaul", stack={stack!r})
pulumi.runtime.set_all_config({{"longhaul:objects-of": "nobody"}})
runpy.run_path("stacks", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False)
    # The stack of its own goes on to the environment's file, which is not there.
    assert ("is not the one of what runs on the cluster of nobody" in done.stderr) is refused, done.stderr
    assert ("Pulumi.nobody.yaml" in done.stderr) is not refused, done.stderr
