#!/bin/sh
# Run the tests in parts, by what they need: one run of pytest for each part, the cheap parts first. A part that fails ends the run.
#   fast     lint, unit and golden tests, which need nothing
#   engine   tests with the real Pulumi engine, or with tools; most of their time is waiting, so several run at once
#   machines tests on real machines of the lab, in labs of their own
#   cluster  tests in a whole environment in the lab; most of them share one
#   drill    tests that kill, stall, roll or compile: `lab/test.sh drill tests/lab/test_killed.py` runs some of them
# Tools are compiled meanwhile with low priority; a test that needs a tool waits for it.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
log=.lab/log/tools.log
mkdir -p .lab/log

stop() {
  if [ -n "${tools:-}" ]; then
    kill "$tools" 2>/dev/null || true
    wait "$tools" 2>/dev/null || true
  fi
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

compile() {
  nice -n 10 $python -m lab.tools ensure >"$log" 2>&1 </dev/null &
  tools=$!
}

# Print the time at which each part begins. The last line of a part is pytest's own.
part() {
  name=$1
  shift
  printf '\n== %s: begins at %s ==\n' "$name" "$(date -u +%H:%M:%S)"
  $python -m pytest "$@"
}

case ${1:-} in
  drill)
    shift
    compile
    part drill -m drill "$@"
    ;;
  *)
    if [ "$*" != fast ]; then compile; fi
    for name; do
      case $name in
        fast) part fast -m "not engine and not lab and not drill" --numprocesses 2 --dist worksteal ;;
        engine) part engine -m "engine and not drill" --numprocesses 4 --dist loadfile ;;
        machines) part machines -m "lab and not cluster and not drill" --numprocesses 2 --dist loadfile ;;
        cluster) part cluster -m "cluster and not drill" ;;
        *)
          echo "error: no part is called $name: fast, engine, machines, cluster, drill" >&2
          exit 2
          ;;
      esac
    done
    ;;
esac
