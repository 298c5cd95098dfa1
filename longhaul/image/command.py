"""``longhaul image build``: bake a versioned image for a site's machines, with its manifest."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from contract.documents.image_manifest import summary_of
from longhaul.engine.change import exit_code
from longhaul.project.context import Context, context, state_folder
from longhaul.project.invocation import Invocation
from longhaul.project.lab_seam import Lab, require_cloud
from longhaul.report.json_output import document
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from longhaul.image.bake import Bake

HELP = "bake a versioned machine image for a site in a cloud, with Packer"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``image``."""
    parser.add_argument("verb", choices=("build",), help="build: bake an image")
    parser.add_argument("--site", metavar="S", required=True, help="the site whose machines it is for")
    parser.add_argument(
        "--kind", choices=("node", "gpu"), default="node", help="gpu includes NVIDIA's driver (default: node)"
    )
    parser.add_argument("--version", metavar="V", default="", help="three numbers, 1.4.0 (default: date and time)")
    parser.add_argument("--subnet", metavar="ID", default="", help="bake in this subnet, reached by private address")
    parser.add_argument(
        "--machine-type", metavar="T", default="", help="machine type for the bake (default: one with four processors)"
    )
    parser.add_argument("--base", metavar="V", default="", help="Ubuntu's image: its id, on Azure its version (newest)")
    parser.add_argument(
        "--key", metavar="ID", default="", help="KMS key; on Azure, disk encryption set (default: the cloud's own)"
    )
    parser.add_argument("--validate", action="store_true", help="only have Packer validate the input; make nothing")
    parser.add_argument("--json", action="store_true", help="for programs; Packer's output goes to stderr")


def run(invocation: Invocation) -> int:
    """Bake, and print the image's id. Return exit code 0 only when the image exists."""
    options = invocation.options
    from clouds.base.images import BakeOptions
    from longhaul.image.bake import cloud_site, plan_bake
    from longhaul.image.sources import omitted_images

    where = context(invocation)
    environment = where.project.load(where.env)
    site = cloud_site(environment, options.site)
    if where.lab is not None and not options.validate:
        return _of_lab(where.env, where.lab, site.image, options)
    asked = BakeOptions(
        site=options.site,
        kind=options.kind,
        version=options.version,
        subnet=options.subnet,
        machine_type=options.machine_type,
        encryption_key=options.key,
        base=options.base,
    )
    bake = plan_bake(environment, asked, now=datetime.now(UTC))
    if not options.validate:
        require_cloud(environment)
    if not bake.depot and (missing := omitted_images()):
        say(
            f"{', '.join(missing)} will not be in the image, so nodes pull it: images/image.toml has no digest of it, "
            "and an image contains nothing unchecked. Write the digest there, or give the site a depot"
        )
    return _bake(where, bake, options)


def _bake(where: Context, bake: Bake, options: argparse.Namespace) -> int:
    from clouds.base.errors import CloudError
    from clouds.registry import clouds
    from longhaul.image.baked_image import leftovers, record_image
    from longhaul.image.build_folder import build_folder
    from longhaul.image.packer import TEMPLATES, find_packer, run_packer

    # These may contain a secret: pass them neither as an argument nor in a file.
    try:
        secrets = clouds()[bake.cloud].images.credentials(os.environ, needed=not options.validate)
    except CloudError as error:
        raise CommandError(str(error)) from error
    kept = state_folder(where, os.environ) / "images"
    packer = find_packer(os.environ, log_dir=kept)
    shown = sys.stderr.buffer if options.json else sys.stdout.buffer
    verb = ["validate"] if options.validate else ["build", "-color=false", "-timestamp-ui"]
    with build_folder(bake) as shop:
        folder = shop.folder if options.validate else _folder(kept, bake)
        log = folder / "packer.log"
        argv = [str(packer.binary), *verb, f"-only={bake.only}", f"-var-file={shop.variables}", str(TEMPLATES)]
        environ = {**packer.environment(os.environ, folder=shop.folder), **secrets}
        if not options.validate:
            say(f"{bake.site}: baking {bake.name}; Packer's log is {log}")
        result = run_packer(argv, environ=environ, log=log, shown=shown)
        code = exit_code(result)
        if options.validate:
            return code
        if code is not Exit.OK:
            ended = "was interrupted" if code is Exit.INTERRUPTED else f"ended with {result.code}"
            raise CommandError(
                f"packer {ended}: there is no image {bake.name}. Its whole output: {log}\n{leftovers(bake)}", code=code
            )
        baked = record_image(bake, shop, folder, log)
    print(baked.to_json() if options.json else baked.to_text())
    return Exit.OK


def _folder(kept: Path, bake: Bake) -> Path:
    """Return the folder for the log and manifest of a bake, private to this user."""
    folder = kept / f"{bake.env}-{bake.site}-{bake.kind}-{bake.version}"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _of_lab(env: str, lab: Lab, image: str, options: argparse.Namespace) -> int:
    """Print the lab's image and its manifest. ``make lab`` builds it with the same playbook, without Packer."""
    path = lab.image_manifest(image)
    manifest = summary_of(path.read_text(encoding="utf-8"))
    if options.kind != manifest.kind:
        raise CommandError(f"a lab's image is a {manifest.kind}'s; it has no {options.kind} image", code=Exit.USAGE)
    summary = {
        "environment": env,
        "site": options.site,
        "kind": manifest.kind,
        "version": manifest.version,
        "image": str(path.parent / "rootfs"),
        "digest": manifest.digest,
        "manifest": str(path),
    }
    if options.json:
        print(document(summary))
    else:
        print(f"{summary['kind']} {summary['version']} is {summary['image']}\nits manifest: {path}")
    say("the lab's image is baked by `make lab`, with playbooks/image.yml as Packer would; nothing was done")
    return Exit.OK
