#!/bin/sh
# Static checks: `lab/lint.sh` runs all of them, even when one fails; `lab/lint.sh mypy yamllint` runs the named ones.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=.venv/bin
programs=images/rootfs/usr/local/lib/longhaul

ruff() { "$bin/ruff" check --quiet .; }
format() { "$bin/ruff" format --quiet --check .; }
mypy() { "$bin/mypy"; }
# The machines' own programs import each other from their folder on a machine, so they are checked separately. Their settings differ, and
# mypy drops what a cache holds of other settings: two checks with one cache would each begin anew.
programs() { MYPYPATH=$programs:. "$bin/mypy" --strict --config-file= --cache-dir .mypy_cache/programs $programs; }
# Every shell script in git's list, new files included; recognized by its first line. git finds those that have such a line at all,
# for to start a program for each of two thousand files takes longer than the check.
shellcheck() {
  scripts=$(git grep --untracked -lE '^#!/(usr/)?bin/(env )?(ba|da)?sh' | while read -r file; do
    if head -c 64 "$file" | head -n 1 | grep -qE '^#!/(usr/)?bin/(env )?(ba|da)?sh'; then printf '%s\n' "$file"; fi
  done)
  # shellcheck disable=SC2086 # the repository's own file names: no spaces
  "$bin/shellcheck" $scripts
}
# Names of the product: none that is a verb, no class name twice.
names() { "$bin/python" -m lab.lint_names; }
yamllint() { "$bin/yamllint" --strict .; }
# ansible-lint finds ansible-playbook on PATH, and keeps its caches in a folder that git ignores. It gets files and no folders: it starts
# Ansible for each role's folder, and a playbook's syntax check reads its roles already.
ansible_lint() {
  files=$(git ls-files --cached --others --exclude-standard 'playbooks/*.yml')
  # shellcheck disable=SC2086 # the repository's own file names: no spaces
  PATH="$PWD/$bin:$PATH" ANSIBLE_HOME=.lab/ansible ANSIBLE_ROLES_PATH=playbooks/roles "$bin/ansible-lint" --offline -q $files
}

# The longest first: as tests they run in parallel.
[ $# -gt 0 ] || set -- mypy ansible_lint programs shellcheck names yamllint ruff format
failed=
for check; do
  if "$check"; then echo "lint: $check: good"; else failed="$failed $check"; fi
done
if [ -n "$failed" ]; then
  echo "lint: failed:$failed" >&2
  exit 1
fi
