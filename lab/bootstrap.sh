#!/bin/sh
# Make .venv with the locked Python packages and this package: `lab/bootstrap.sh` installs what the programs need,
# `lab/bootstrap.sh --dev` also what the checks need. With `--root` it fails at once unless it runs as root. When all is installed
# already, it needs no time and no network.
set -eu
cd "$(dirname "$0")/.."

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

kind=run
lock=requirements.lock
for option; do
  case $option in
    --dev)
      kind=dev
      lock=requirements-dev.lock
      ;;
    --root)
      [ "$(id -u)" = 0 ] || fail "this needs root, for it boots machines in namespaces of their own. Run it as root: sudo make …"
      ;;
    *) fail "unknown option $option; there are --dev and --root" ;;
  esac
done
[ "$(uname -s)" = Linux ] || fail "this runs on Linux only: Debian 12 and Ubuntu 24.04 are what it is made for"

# Prints the first python3 that is new enough and can make a virtual environment (Debian's can only with python3-venv).
find_python() {
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys._base_executable)' # not an activated environment's own
      return
    fi
  done
}

install_python() {
  command -v apt-get >/dev/null || fail "no Python 3.11 or newer with its venv module was found: install one and run it again"
  [ "$(id -u)" = 0 ] || fail "python3-venv is missing, or python3 is older than 3.11, and only root can install it: run it as root"
  echo "installing python3-venv" >&2
  log=.lab/log/python-packages.log
  {
    apt-get -q update &&
      DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends python3 python3-venv
  } >"$log" 2>&1 9>&- || {
    tail -n 15 "$log" >&2
    fail "apt could not install python3-venv (all of its output: $log). Can a package archive be reached, and is there space?"
  }
}

# When pip fails, only the end of its output goes to the screen.
install_packages() {
  log=.lab/log/python.log
  : >"$log"
  run() {
    "$@" >>"$log" 2>&1 9>&- || {
      tail -n 15 "$log" >&2
      fail "the Python packages could not be installed into .venv (all of the output: $log). Can a package index be reached, and is there
space (df -h .)? What was installed is kept; run it again."
    }
  }
  # An environment of another Python, or one that was killed half-made, is made anew.
  if [ "$(.venv/bin/python -c 'import sys, pip; print(sys.version)' 2>/dev/null)" != "$("$python" -c 'import sys; print(sys.version)')" ]; then
    run "$python" -m venv --clear .venv
  fi
  # Wheels only: a build would fetch its build dependencies, which no lock names. Nothing is compiled: the SDKs' 700 MB would take
  # minutes, and nearly all of it is never imported.
  run .venv/bin/python -m pip install --no-input --disable-pip-version-check --no-compile --only-binary :all: --require-hashes -r "$lock"
  run .venv/bin/python -m pip install --no-input --disable-pip-version-check --no-deps --no-build-isolation --editable .
}

mkdir -p .lab/log
exec 9>.lab/bootstrap.lock
flock 9 # one at a time: `make lab` and `make test` may be started side by side

python=$(find_python)
if [ -z "$python" ]; then
  install_python
  python=$(find_python)
  [ -n "$python" ] || fail "python3 here is $(python3 -V 2>&1), and 3.11 or newer is needed"
fi

stamp=$({ "$python" -V && pwd && cat pyproject.toml "$lock"; } | sha256sum)
if [ "$(cat ".venv/.longhaul-$kind" 2>/dev/null)" != "$stamp" ]; then
  echo "installing the locked Python packages into .venv" >&2
  install_packages
  printf '%s\n' "$stamp" >".venv/.longhaul-$kind"
fi
