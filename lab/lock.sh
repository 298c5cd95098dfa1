#!/bin/sh
# Write requirements.lock and requirements-dev.lock from pyproject.toml: every package with its version and hashes, without any
# registry's address. Versions stay as they are; `lab/lock.sh --upgrade` or `--upgrade-package NAME` raises them. Needs uv.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .venv/bin/uv)
compile() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
    --custom-compile-command lab/lock.sh "$@"
}
compile "$@" --extra build --output-file requirements.lock pyproject.toml
compile "$@" --extra build --extra dev --constraints requirements.lock --output-file requirements-dev.lock pyproject.toml
