"""Write the content of this machine to /usr/share/longhaul/image.json, as the last step of a bake.

The program runs on the machine that is baked, so that the file lists the installed versions, not the requested ones.
The same machine gives the same file, because the file contains no date. The program prints `the manifest is written`,
or `the manifest is unchanged`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from containerd.image_archives import ARCHIVES, ArchiveError, archives

from contract.documents.image_manifest import PATH, ImageContent

BINARIES = Path("/usr/local/bin")
KERNELS = Path("/lib/modules")
NVIDIA = ("nvidia", "nvidia-current")
"""Names of the driver's module: nvidia in NVIDIA's and Ubuntu's packages, nvidia-current in Debian's."""
RELEASES = {"kubernetes": "kubelet", "etcd": "etcd"}
"""Binary that prints the version, for each release whose version the machines' descriptions name."""


def packages(root: Path) -> dict[str, str]:
    """Return the version of every package that dpkg knows, by name."""
    argv = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "--show", "--showformat=${Package} ${Version}\\n"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return dict(sorted(line.split(" ", 1) for line in done.stdout.splitlines()))


def binaries(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in the folder, by name."""
    return {path.name: _sha256(path) for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink()}


def versions(folder: Path) -> dict[str, str]:
    """Return the version of each release, as its binary prints it. A release whose binary is missing, or cannot run
    here, is left out."""
    by_release = {}
    for release, name in RELEASES.items():
        try:
            done = subprocess.run([folder / name, "--version"], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        if match := re.search(r"\d+\.\d+\.\d+", done.stdout):
            by_release[release] = match[0]
    return by_release


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kernels(root: Path) -> dict[str, dict[str, str]]:
    """Return the version of the NVIDIA module of every kernel, by the kernel's release and the module's name; empty in
    a container."""
    folder = root / KERNELS.relative_to("/")
    releases = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return {release: _nvidia(release, root) for release in releases if (folder / release / "modules.dep").exists()}


def _nvidia(release: str, root: Path) -> dict[str, str]:
    for module in NVIDIA:
        argv = ["modinfo", "--basedir", str(root), "--set-version", release, "--field", "version", module]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return {"nvidia": done.stdout.strip()}
    return {}


def system(root: Path) -> dict[str, str]:
    """Return the name and the codename from /etc/os-release."""
    lines = (root / "etc/os-release").read_text().splitlines()
    fields = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    return {"name": fields.get("PRETTY_NAME", ""), "codename": fields.get("VERSION_CODENAME", "")}


def content(root: Path, *, kind: str, commit: str, sources: str) -> ImageContent:
    """Return the content of the machine below ``root``."""
    loaded = archives(root / ARCHIVES.relative_to("/"))
    return ImageContent(
        kind=kind,
        commit=commit,
        sources=sources,
        system=system(root),
        kernels=kernels(root),
        packages=packages(root),
        versions=versions(root / BINARIES.relative_to("/")),
        binaries=binaries(root / BINARIES.relative_to("/")),
        images={name: digest for _, digests in loaded for name, digest in digests.items()},
    )


def main(argv: list[str] | None = None) -> int:
    """Return 0 once the file is written, or 1 if this machine cannot be described."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="node", help="what was baked (node)")
    parser.add_argument("--version", default="", help="the image's version (one that the content makes)")
    parser.add_argument("--commit", default="", help="git commit of what it was baked by")
    parser.add_argument("--sources", default="", help="SHA-256 of what it was baked by")
    parser.add_argument("--root", type=Path, default=Path("/"), help="the system, if it is not this one")
    options = parser.parse_args(argv)
    target = options.root / PATH.relative_to("/")
    try:
        baked = content(options.root, kind=options.kind, commit=options.commit, sources=options.sources)
    except (ArchiveError, OSError, subprocess.CalledProcessError) as error:
        print(f"this machine cannot be described: {error}", file=sys.stderr)
        return 1
    text = baked.to_text(options.version)
    same = target.exists() and target.read_text() == text
    if not same:
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.new")
        new.write_text(text)
        new.chmod(0o644)
        os.replace(new, target)
    print("the manifest is unchanged" if same else "the manifest is written")
    return 0
