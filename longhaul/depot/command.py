"""``longhaul depot``: fill, check or serve a folder with everything that an environment's machines install."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.depot import option_types
from longhaul.project.context import context
from longhaul.project.invocation import Invocation
from longhaul.report.json_output import document
from longhaul.terminal.exits import CommandError, Exit, help_text
from longhaul.terminal.say import say

if TYPE_CHECKING:
    import ssl

    from components.model import Environment
    from longhaul.artifacts.depot_content import DepotContent
    from longhaul.artifacts.manifest import DepotReport
    from longhaul.artifacts.nvidia_driver import DriverRequest
    from longhaul.depot.gather import DepotSources

HELP = "fill, check or serve a folder with everything that machines install; for sites without the internet"
REST = ""
_MIB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verbs of ``depot``, each with its own options."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    build = _verb(verbs, "build", "fill a folder with binaries, packages and container images; a second run continues")
    build.add_argument("--to", metavar="DIR", required=True, type=Path, help="the folder, a new one or an older depot")
    build.add_argument("--site", metavar="S", help="only content for this site's machines (default: all sites)")
    build.add_argument(
        "--suite",
        metavar="SUITE",
        action="append",
        default=[],
        help="a distribution release of the machines: bookworm, noble, …",
    )
    build.add_argument(
        "--sources",
        metavar="SUITE=FILE",
        action="append",
        default=[],
        type=option_types.sources,
        help="a sources.list with the release's archives (default: this machine's own, if it runs that release)",
    )
    build.add_argument(
        "--package",
        metavar="SUITE=NAME",
        action="append",
        default=[],
        type=option_types.package,
        help="a package in addition to the roles', with its dependencies",
    )
    build.add_argument(
        "--driver",
        metavar="SUITE=KERNEL",
        action="append",
        default=[],
        type=option_types.driver,
        help="NVIDIA's driver of the pinned branch, for hosts with this kernel (`uname -r`)",
    )
    build.add_argument(
        "--image",
        metavar="NAME:TAG@DIGEST",
        action="append",
        default=[],
        type=option_types.pull,
        help="a container image in addition to Longhaul's, with registry and digest",
    )
    build.add_argument(
        "--make-images", action="store_true", help="build Longhaul's own images from its tools instead of pulling them"
    )
    build.add_argument(
        "--sign", metavar="KEY", help="sign the depot with this gpg key: fingerprint or user id (see `depots.key`)"
    )
    build.add_argument("--refresh", action="store_true", help="ask archives again for cached packages")
    build.add_argument("--json", action="store_true", help="for programs")
    verify = _verb(verbs, "verify", "check every file of a depot against its checksum")
    verify.add_argument("folder", metavar="DIR", type=Path)
    verify.add_argument(
        "--digest", metavar="SHA256", type=option_types.digest, help="the digest that `depot build` printed"
    )
    verify.add_argument(
        "--signed-by", metavar="FILE", type=option_types.key, help="the builder's public key: `gpg --export KEY > FILE`"
    )
    verify.add_argument("--json", action="store_true", help="for programs")
    serve = _verb(verbs, "serve", "serve a depot to machines over HTTP until it is stopped")
    serve.add_argument("folder", metavar="DIR", type=Path)
    serve.add_argument(
        "--listen",
        metavar="ADDRESS:PORT",
        default=("127.0.0.1", 8080),
        type=option_types.listen,
        help="default: 127.0.0.1:8080",
    )
    serve.add_argument(
        "--certificate",
        metavar="FILE",
        type=Path,
        help="serve over HTTPS with this PEM chain; it is read again when it changes",
    )
    serve.add_argument("--key", metavar="FILE", type=Path, help="the certificate's private key, PEM")


def _verb(verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=help_text("depot"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # The options of `depot` itself may also be written after the verb.
    parser.add_argument("--env", metavar="E", default=argparse.SUPPRESS, help="default: $LONGHAUL_ENV")
    parser.add_argument("--project", metavar="DIR", default=argparse.SUPPRESS, help="the checkout")
    return parser


def run(invocation: Invocation) -> int:
    """Run the verb."""
    from longhaul.toolchain.errors import SetupError

    verbs: dict[str, Callable[[Invocation], int]] = {"build": _build, "verify": _verify, "serve": _serve}
    try:
        return verbs[invocation.options.verb](invocation)
    except SetupError as error:
        raise CommandError(str(error)) from error


def _build(invocation: Invocation) -> int:
    from longhaul.depot.gather import assemble, gather
    from longhaul.depot.publish import publish, require_place

    options = invocation.options
    environment, wanted, sources = _asked(invocation)
    require_place(options.to)  # fails before hours of fetching
    sign, key = _signer(environment, options.sign)
    parts = gather(wanted, sources)
    reports: list[DepotReport] = []
    fresh = publish(
        options.to,
        lambda into: reports.append(assemble(into, wanted, parts, sources, sign=sign)),
        progress=say,
        key=key,
    )
    (report,) = reports
    if options.json:
        print(document({"folder": str(options.to.absolute()), "changed": fresh, **report.plain()}))
        return Exit.OK
    say(f"{options.to}: {report.files} files, {report.bytes / _MIB:,.0f} MiB" + ("" if fresh else "; nothing was new"))
    say("its digest, to compare at its destination (`longhaul depot verify DIR --digest …`):")
    print(report.digest)
    return Exit.OK


def _signer(environment: Environment, name: str | None) -> tuple[Callable[[Path], None] | None, str]:
    """Return the function that signs the depot, and the public half of its key. A test signature is made first: a
    passphrase prompt or an unknown key should not come after hours of fetching."""
    from longhaul.artifacts.signature import public_key, sign, try_key

    key = environment.depots.key or ""
    if name is None:
        say("it is not signed, so machines install nothing from it: --sign KEY (docs/depot.md)")
        return None, ""
    if not key:
        raise CommandError(
            f"{environment.name} has no `depots.key`, with which machines check the signature: write what `gpg "
            f"--export {name} | base64 --wrap=0` prints into its file",
            code=Exit.USAGE,
        )
    try_key(name, key)
    return partial(sign, key=name), public_key(name)


def _asked(invocation: Invocation) -> tuple[Environment, DepotContent, DepotSources]:
    """Return the environment, the depot's content, and its sources, from the options."""
    from longhaul.artifacts import image_contents
    from longhaul.artifacts.depot_content import depot_content
    from longhaul.depot.gather import DepotSources
    from longhaul.toolchain.spec import load

    options = invocation.options
    where = context(invocation)
    environment = where.project.load(where.env)
    if options.site is not None and options.site not in environment.sites:
        known = ", ".join(environment.sites)
        raise CommandError(f"{where.env} has no site {options.site!r}; it has {known}", code=Exit.USAGE)
    spec = load(versions=environment.versions.pinned())
    asked = depot_content(
        environment,
        image_contents.load(gpus=True, rdma=True),
        spec,
        site=options.site,
        suites=options.suite,
        extra=[*options.package, *_of_drivers(options.driver)],
        more=options.image,
        make_images=options.make_images,
    )
    named = {
        "sources": {suite for suite, _ in options.sources},
        "package": {suite for suite, _ in options.package},
        "driver": {driver.suite for driver in options.driver},
    }
    for option, suites in named.items():
        stray = suites - set(asked.suites)
        if stray:
            names = ", ".join(sorted(stray))
            raise CommandError(f"--{option} names {names}, which no --suite names", code=Exit.USAGE)
    return (
        environment,
        asked,
        DepotSources(
            spec=spec,
            log_dir=where.project.root / ".lab" / "log",
            progress=say,
            archives={suite: _lines(path) for suite, path in options.sources},
            refresh=options.refresh,
        ),
    )


def _of_drivers(asked: Iterable[DriverRequest]) -> list[tuple[str, str]]:
    from longhaul.artifacts.nvidia_driver import driver_packages, drivers
    from longhaul.toolchain.errors import SetupError

    known = drivers()
    try:
        return [package for driver in asked for package in driver_packages(driver, known)]
    except SetupError as error:
        raise CommandError(str(error), code=Exit.USAGE) from error


def _lines(path: Path) -> tuple[str, ...]:
    """Return the archive lines of a ``sources.list`` file."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    archives = tuple(line for line in lines if line.startswith("deb "))
    if not archives:
        raise CommandError(f"{path} names no archive: a line is `deb [signed-by=…] URL SUITE main`", code=Exit.USAGE)
    return archives


def _verify(invocation: Invocation) -> int:
    from longhaul.artifacts.manifest import verify

    options = invocation.options
    _require_depot(options.folder)
    report = verify(options.folder, digest=options.digest or "", key=options.signed_by or "", progress=say)
    if options.json:
        print(document(report.plain()))
    else:
        for problem in report.problems:
            print(f"{problem.kind:<12} {problem.path}: {problem.message}")
        verdict = "as it should be" if report.good else f"{len(report.problems)} things are wrong"
        print(f"{options.folder}: {report.files} files, {report.bytes / _MIB:,.0f} MiB: {verdict}")
        if report.good and not options.signed_by:
            print("its signature was not checked: --signed-by names the builder's key")
        if report.good and not options.digest and not options.signed_by:
            print(f"its digest; compare it with the digest that `depot build` printed: {report.digest}")
    return Exit.OK if report.good else Exit.FAILED


def _serve(invocation: Invocation) -> int:
    from longhaul.artifacts.serving import Listen, serve

    options = invocation.options
    _require_depot(options.folder)
    missing = [name for name in ("binaries", "debian", "images/index.json") if not (options.folder / name).exists()]
    if missing:
        raise CommandError(
            f"{options.folder} lacks {', '.join(missing)}: `longhaul depot verify {options.folder}` lists all faults"
        )
    host, port = options.listen
    tls = _tls(options.certificate, options.key)
    if tls is None and host not in ("127.0.0.1", "::1", "localhost"):
        say(
            "over plain HTTP, everyone between here and the machines sees what they install, and can withhold it or "
            "show an older depot: see --certificate. A plan that adds such a depot is refused"
        )
    try:
        asyncio.run(serve(options.folder, Listen(host=host, port=port, tls=tls), say=say))
    except OSError as error:
        raise CommandError(f"cannot listen at {host}:{port}: {error.strerror or error}") from error
    return Exit.OK


def _require_depot(folder: Path) -> None:
    from longhaul.artifacts.manifest import is_depot

    if not is_depot(folder):
        raise CommandError(f"{folder} is not a depot: `longhaul depot build --to {folder}` makes one", code=Exit.USAGE)


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    from longhaul.depot.certificate import load_error, reloading_tls

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise CommandError("--certificate and --key go together", code=Exit.USAGE)
    try:
        return reloading_tls(certificate, key, say=say)
    except OSError as error:
        raise CommandError(load_error(certificate, key, error), code=Exit.USAGE) from error
