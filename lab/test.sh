#!/bin/sh
# All checks: lint, then every test in one run of pytest, fast ones first, whose closing line is the last. What has to be compiled is
# compiled meanwhile with low priority; a test that needs a tool waits for it. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
log=.lab/log/tools.log
mkdir -p .lab/log

nice -n 10 $python -m lab.tools ensure >"$log" 2>&1 </dev/null &
tools=$!
stop() {
  kill "$tools" 2>/dev/null || true
  wait "$tools" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

lab/lint.sh
$python -m pytest "$@"
