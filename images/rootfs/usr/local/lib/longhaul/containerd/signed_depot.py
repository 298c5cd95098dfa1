"""Tell containerd whether it may pull an image. From a depot, containerd may pull only images that the depot's builder
has signed.

Before containerd fetches an image, it asks the depot for the digest of the tag, and then asks this program
(containerd's docs/image-verification.md, "bindir"). The answer is yes if the depot's list of images contains the name
with the digest, and the builder's signature covers the list. If the name contains a digest, containerd itself verifies
the image, and the answer is yes if both digests are equal. A machine without /etc/longhaul/depot.json pulls from the
publishers or from an unsigned depot, so the answer is always yes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import ssl
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

from contract.annotations import IMAGE_NAME
from contract.documents.depot import PATH, SignedDepot, of_text

SETTINGS = Path(PATH)
LIST, SIGNATURE, INDEX = "SHA256SUMS", "SHA256SUMS.gpg", "images/index.json"
TIMEOUT_S = 10.0
"""Longest silence of the depot in seconds. containerd waits 30 s for the verdict (10-longhaul.toml)."""
MOST_BYTES = 64 << 20
"""Size of the largest accepted list, in bytes."""
GOOD = frozenset(("GOODSIG", "VALIDSIG"))
BAD = frozenset(("BADSIG", "ERRSIG", "EXPSIG", "EXPKEYSIG", "REVKEYSIG"))
"""Verdicts of gpgv (GnuPG, doc/DETAILS). gpgv exits with 0 even if the key has expired, so its verdicts are read
too."""

Fetch = Callable[[str], bytes]


class PullRefusedError(Exception):
    """Raised if the image may not be pulled. The message says why."""


def fetch(url: str, *, authority: str | None = None) -> bytes:
    """Return the content at an address of the depot. Raise ``PullRefusedError`` if that fails. ``authority`` is the
    file with the certificate authorities of the depot's server, None for the system's store."""
    try:
        context = ssl.create_default_context(cafile=authority)
        with urllib.request.urlopen(url, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310 - http and https, by the file's check
            content: bytes = answer.read(MOST_BYTES + 1)
    except OSError as error:
        raise PullRefusedError(f"{url}: {getattr(error, 'reason', error)}") from error
    if len(content) > MOST_BYTES:
        raise PullRefusedError(f"{url} is larger than any list")
    return content


def signed(content: bytes, signature: bytes, key: str) -> bool:
    """Return whether one of the public keys in ``key`` made the detached signature. gpgv is installed on every machine
    with apt."""
    with tempfile.TemporaryDirectory(prefix="longhaul-gpgv-") as name:
        folder = Path(name)
        for file, part in (("key", base64.b64decode(key)), ("signature", signature), ("content", content)):
            (folder / file).write_bytes(part)
        argv = ["gpgv", "--status-fd", "1", "--weak-digest", "SHA1", "--homedir", name, "--keyring", f"{name}/key"]
        argv += [f"{name}/signature", f"{name}/content"]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    statuses = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("[GNUPG:] ")}
    return done.returncode == 0 and statuses >= GOOD and not statuses & BAD


def sums(content: bytes) -> dict[str, str]:
    """Return the checksums in a list, by path. Raise ``PullRefusedError`` for any other document, because the key may
    also have signed other documents."""
    checksums = {}
    for line in content.decode("utf-8", errors="replace").splitlines():
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if match is None:
            raise PullRefusedError(f"what was signed is no list of checksums: {line[:80]!r}")
        checksums[match[2]] = match[1]
    return checksums


def digests(depot: SignedDepot, get: Fetch) -> dict[str, str]:
    """Return the digest of each image that the depot's builder has signed, by name with tag."""
    url = depot.url
    listed, signature = get(f"{url}/{LIST}"), get(f"{url}/{SIGNATURE}")
    if not signed(listed, signature, depot.key):
        raise PullRefusedError(f"{url}/{LIST} is not signed by the depot's builder")
    index = get(f"{url}/{INDEX}")
    if hashlib.sha256(index).hexdigest() != sums(listed).get(INDEX):
        raise PullRefusedError(f"{url}/{INDEX} is not the one that the depot's builder has signed for")
    return {entry["annotations"][IMAGE_NAME]: entry["digest"] for entry in json.loads(index)["manifests"]}


def judge(depot: SignedDepot, name: str, digest: str, get: Fetch = fetch) -> str:
    """Return the reason why the image may be pulled. Raise ``PullRefusedError`` if it may not be pulled."""
    if "@" in name:
        if name.rpartition("@")[2] != digest:
            raise PullRefusedError(f"containerd asked for {name} and received {digest}")
        return "it was asked for by its digest"
    known = digests(depot, get)
    if name not in known:
        raise PullRefusedError(f"the depot's builder has not signed for {name}: `longhaul depot build --image` adds it")
    if known[name] != digest:
        raise PullRefusedError(f"the depot's builder has signed for {name} with {known[name]}, and it serves {digest}")
    return "the depot's builder has signed for it"


def main(argv: list[str] | None = None, path: Path = SETTINGS) -> int:
    """Print the reason, and return 0 if the image may be pulled, otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("name", "digest", "stdin-media-type"):
        parser.add_argument(f"-{option}")
    options = parser.parse_args(argv)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        print("this machine has no signed depot")
        return 0
    try:
        depot = of_text(text)
        get = partial(fetch, authority=depot.authority)
        print(judge(depot, options.name, options.digest, get))
    except (PullRefusedError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(error if isinstance(error, PullRefusedError) else f"the depot's lists cannot be understood: {error!r}")
        return 1
    return 0
