#!/bin/sh
# Every check that runs nothing. All of them run, also when one fails.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=.venv/bin
failed=

check() {
  name=$1
  shift
  if "$@"; then echo "lint: $name: good"; else failed="$failed $name"; fi
}

check ruff "$bin/ruff" check --quiet .
check format "$bin/ruff" format --quiet --check .
check mypy "$bin/mypy"
# The machines' own programs: scripts beside each other, so apart from the packages.
programs=images/rootfs/usr/local/lib/longhaul
check programs env MYPYPATH=$programs "$bin/mypy" --strict --config-file= $programs/*.py
# Every shell script git knows of, by its first line; new ones too.
scripts=$(git ls-files --cached --others --exclude-standard | while read -r file; do
  if [ -f "$file" ] && head -c 64 "$file" | head -n 1 | grep -qE '^#!/(usr/)?bin/(env )?(ba|da)?sh'; then printf '%s\n' "$file"; fi
done)
# shellcheck disable=SC2086 # the repository's own file names: no spaces
check shellcheck "$bin/shellcheck" $scripts
check yamllint "$bin/yamllint" --strict .
# It runs ansible-playbook by that name, and keeps its caches where git looks away.
check ansible-lint env PATH="$PWD/$bin:$PATH" ANSIBLE_HOME=.lab/ansible ANSIBLE_ROLES_PATH=playbooks/roles "$bin/ansible-lint" --offline -q playbooks

if [ -n "$failed" ]; then
  echo "lint: failed:$failed" >&2
  exit 1
fi
