#!/bin/sh
# The tests by what they need, one run of pytest a part, the cheap ones first; a part that fails ends it:
#   fast     lint, unit and golden tests, which need nothing
#   engine   those that run the real Pulumi engine, or tools; most of their time is waiting, so several run at once
#   machines those on real machines of the lab, in labs of their own
#   cluster  those in a whole environment in the lab, most of which share one
#   drill    those that kill, stall, roll or compile: `lab/test.sh drill tests/lab/test_killed.py` runs some of them
# What has to be compiled is compiled meanwhile with low priority; a test that needs a tool waits for it.
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

# The time of each part, for who wonders where it goes. The last line is pytest's own.
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
