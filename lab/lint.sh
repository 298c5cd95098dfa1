#!/bin/sh
# Every check that runs nothing: `lab/lint.sh` all of them, also when one fails; `lab/lint.sh mypy yamllint` those named.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=.venv/bin
programs=images/rootfs/usr/local/lib/longhaul

ruff() { "$bin/ruff" check --quiet .; }
format() { "$bin/ruff" format --quiet --check .; }
mypy() { "$bin/mypy"; }
# The machines' own programs: scripts beside each other, so apart from the packages.
programs() { MYPYPATH=$programs "$bin/mypy" --strict --config-file= $programs/*.py; }
# Every shell script git knows of, by its first line; new ones too.
shellcheck() {
  scripts=$(git ls-files --cached --others --exclude-standard | while read -r file; do
    if [ -f "$file" ] && head -c 64 "$file" | head -n 1 | grep -qE '^#!/(usr/)?bin/(env )?(ba|da)?sh'; then printf '%s\n' "$file"; fi
  done)
  # shellcheck disable=SC2086 # the repository's own file names: no spaces
  "$bin/shellcheck" $scripts
}
yamllint() { "$bin/yamllint" --strict .; }
# It runs ansible-playbook by that name, and keeps its caches where git looks away.
ansible_lint() {
  PATH="$PWD/$bin:$PATH" ANSIBLE_HOME=.lab/ansible ANSIBLE_ROLES_PATH=playbooks/roles "$bin/ansible-lint" --offline -q playbooks
}

# The longest first: as tests they run beside each other.
[ $# -gt 0 ] || set -- mypy ansible_lint programs shellcheck yamllint ruff format
failed=
for check; do
  if "$check"; then echo "lint: $check: good"; else failed="$failed $check"; fi
done
if [ -n "$failed" ]; then
  echo "lint: failed:$failed" >&2
  exit 1
fi
