"""Sources of an image: playbook, roles, images, contract, services and the pins of this checkout."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from longhaul.toolchain import services
from longhaul.toolchain.spec import load as load_pins
from longhaul.toolchain.spec import repository
from longhaul.toolchain.trees import describe, files_of

PARTS = (
    "contract",
    "images",
    "playbooks/filter_plugins",
    "playbooks/image.yml",
    "playbooks/lookup_plugins",
    "playbooks/roles",
)
PINS = "tools.toml"
PACKAGES = ("pyproject.toml", "requirements.lock")
"""Files with the names and versions of the services' packages."""


def sources_digest(root: Path | None = None) -> str:
    """Return the SHA-256 of all sources, in hexadecimal. The digest depends only on the sources' content, not on
    git."""
    root = root or repository()
    files = [root / name for name in (*PARTS, PINS) if (root / name).is_file()]
    trees = [root / name for name in PARTS if (root / name).is_dir()]
    files += [path for _, path in files_of(trees)]
    lines = sorted(f"{path.relative_to(root)} {describe(path)}\n" for path in files)
    lines += sorted(f"{name} {described}\n" for name, described in services.sources(root).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def commit(root: Path | None = None) -> str:
    """Return the checkout's commit, with ``-dirty`` when the sources differ from it; ``unknown`` without git."""
    root = root or repository()
    head = _git(root, "rev-parse", "HEAD")
    if not head:
        return "unknown"
    changed = _git(root, "status", "--porcelain", "--", *PARTS, *services.FOLDERS, PINS, *PACKAGES)
    return f"{head}-dirty" if changed else head


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def omitted_images(root: Path | None = None) -> list[str]:
    """Return the container images that belong in the image but cannot be included without a depot, since
    images/image.toml has no digest to check them against. ``playbooks/filter_plugins/images.py`` applies the same
    rule."""
    from longhaul.artifacts.image_contents import load

    wanted = load(root)
    versions = {tool.name: tool.version for tool in load_pins().tools}
    return [
        f"{image.name}:{tag}"
        for image in wanted.images
        if image.tool in wanted.preloaded
        and (tag := image.tag.format(version=versions[image.tool])) not in image.digests
    ]
