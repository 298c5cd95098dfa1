"""What became of a bake: an image with its manifest, or what may be left and how to look."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clouds.registry import clouds
from longhaul.exits import CommandError
from longhaul.images.bake import Bake
from longhaul.images.workshop import Workshop
from longhaul.report.programs import document


@dataclass(frozen=True, kw_only=True)
class Baked:
    """A finished image."""

    environment: str
    site: str
    kind: str
    version: str
    image: str
    """What the stack file's ``image`` of the site is to say."""
    digest: str
    """Of the image's content, by its manifest."""
    manifest: str
    log: str

    def to_json(self) -> str:
        """For programs."""
        return document(asdict(self))

    def to_text(self) -> str:
        """For people."""
        return (
            f"{self.kind} {self.version} is {self.image}\n"
            f"its manifest: {self.manifest}\n"
            f"machines get it by stacks/Pulumi.{self.environment}.yaml, sites.{self.site}.image: {self.image}"
        )


def finished(bake: Bake, shop: Workshop, folder: Path, log: Path) -> Baked:
    """The image that Packer made, with its manifest kept in ``folder``. ``CommandError`` when what Packer and the
    playbook left is no account of one."""
    try:
        made: dict[str, Any] = json.loads(shop.result.read_text(encoding="utf-8"))["builds"][-1]
        image = bake.image or made["artifact_id"].rpartition(":")[2]
        said = json.loads(shop.manifest.read_text(encoding="utf-8"))
        if said["version"] != bake.version:
            raise CommandError(f"the image says that it is {said['version']}, not {bake.version}: {log} tells more")
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise CommandError(
            f"packer ended well and left no account of an image ({error!r}): {log} tells what it did.\n"
            f"{leftovers(bake)}"
        ) from error
    kept = folder / "manifest.json"
    shutil.copyfile(shop.manifest, kept)
    return Baked(
        environment=bake.env,
        site=bake.site,
        kind=bake.kind,
        version=bake.version,
        image=image,
        digest=said["digest"],
        manifest=str(kept),
        log=str(log),
    )


def leftovers(bake: Bake) -> str:
    """How to see whether anything is left of a bake that was killed, and how to remove it. One that failed, or that was
    interrupted, removes what it made itself."""
    look = clouds()[bake.cloud].images.leftovers(bake.name, bake.image, bake.variables)
    return "Packer removes what it made, unless it was killed itself. Whether anything is left:\n" + "\n".join(
        f"  {line}" for line in look
    )
