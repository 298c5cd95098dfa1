"""Result of a bake: an image with its manifest, or advice about leftovers."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clouds.registry import clouds
from contract.documents.image_manifest import summary_of
from longhaul.image.bake import Bake
from longhaul.image.build_folder import BuildFolder
from longhaul.project.baked_images import MANIFEST, RECORD
from longhaul.report.json_output import document
from longhaul.terminal.exits import CommandError


@dataclass(frozen=True, kw_only=True)
class Baked:
    """A finished image."""

    environment: str
    site: str
    kind: str
    version: str
    image: str
    """Value for the site's ``image`` in the stack file."""
    digest: str
    """Digest of the image's content, from its manifest."""
    manifest: str
    log: str

    def to_json(self) -> str:
        """Return the result for programs."""
        return document(asdict(self))

    def to_text(self) -> str:
        """Return the result for people."""
        return (
            f"{self.kind} {self.version} is {self.image}\n"
            f"its manifest: {self.manifest}\n"
            f"machines get it by stacks/Pulumi.{self.environment}.yaml, sites.{self.site}.image: {self.image}"
        )


def record_image(bake: Bake, shop: BuildFolder, folder: Path, log: Path) -> Baked:
    """Return the image that Packer made, and store its manifest in ``folder``. Raise ``CommandError`` when the files
    from Packer and the playbook do not describe an image."""
    try:
        made: dict[str, Any] = json.loads(shop.result.read_text(encoding="utf-8"))["builds"][-1]
        image = bake.image or made["artifact_id"].rpartition(":")[2]
        manifest = summary_of(shop.manifest.read_text(encoding="utf-8"))
        if manifest.version != bake.version:
            raise CommandError(
                f"the image's manifest has the version {manifest.version}, not {bake.version}: see {log}"
            )
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise CommandError(
            f"packer succeeded but reported no image ({error!r}): see {log}.\n{leftovers(bake)}"
        ) from error
    kept = folder / MANIFEST
    shutil.copyfile(shop.manifest, kept)
    baked = Baked(
        environment=bake.env,
        site=bake.site,
        kind=bake.kind,
        version=bake.version,
        image=image,
        digest=manifest.digest,
        manifest=str(kept),
        log=str(log),
    )
    (folder / RECORD).write_text(baked.to_json() + "\n", encoding="utf-8")
    return baked


def leftovers(bake: Bake) -> str:
    """Return commands that show and remove the leftovers of a killed bake. A bake that failed, or was interrupted,
    cleans up itself."""
    look = clouds()[bake.cloud].images.leftovers(bake.name, bake.image, bake.variables)
    return "Packer removes what it made, unless it was killed. Check whether anything is left:\n" + "\n".join(
        f"  {line}" for line in look
    )
