"""Make /etc/containerd/config.toml import the folder with Longhaul's settings.

Other tools edit the file too, and their settings are kept. The program replaces the file only if it is missing, is not
TOML, is not of containerd 2, or does not import the folder. The former file stays beside it as
config.toml.before-longhaul. The program runs before containerd, with Python's standard library. Exit codes: 0 the file
imports the folder, 1 the file cannot be read or written, 2 wrong use.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from pathlib import Path

PATH = Path("/etc/containerd/config.toml")
FOLDER = "/etc/containerd/conf.d/*.toml"
VERSION = 3
"""Version of containerd 2's configuration files (docs/cri/config.md of containerd)."""
TEXT = f"""\
# Longhaul's settings are in the folder. Other tools may edit this file, as long as it goes on importing that.
version = {VERSION}
imports = ["{FOLDER}"]
"""


def imports(text: str) -> bool:
    """Return whether containerd reads the folder with a configuration of this text."""
    try:
        config = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    named = config.get("imports", [])
    return config.get("version") == VERSION and isinstance(named, list) and FOLDER in named


def ensure(path: Path) -> str:
    """Make the file import the folder. Return a description of the change, empty if the file was left as it is."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = None
    except UnicodeDecodeError:
        text = ""
    if text is not None and imports(text):
        return ""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(TEXT, encoding="utf-8")
    fresh.chmod(0o644)
    message = f"{path} is made"
    if text is not None:
        kept = path.with_name(f"{path.name}.before-longhaul")
        os.replace(path, kept)
        message = f"{path} did not import {FOLDER}: it is made anew, and the old one is {kept}"
    os.replace(fresh, path)
    return message


def main(argv: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", nargs="?", type=Path, default=PATH, help=f"default: {PATH}")
    args = parser.parse_args(argv)
    try:
        message = ensure(args.path)
    except OSError as error:
        print(f"{args.path}: {error.strerror}: containerd would run without Longhaul's settings", file=sys.stderr)
        return 1
    if message:
        print(message)
    return 0
