"""Access to AWS for a program on a control plane's machine: it assumes a role with a token of its identity in Azure."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from clouds.base.machine_access import SOCKET_S, OwnAccess
from contract.documents.cloud_token import NoTokenError

log = logging.getLogger(__name__)

LOOK_S = 30.0
"""Seconds between two checks of the token's age, and between two requests for a token."""
EARLY_S = 600.0
"""Remaining validity of the token below which a new one is requested, seconds."""


def use(access: OwnAccess) -> None:
    """Make AWS's SDK assume the role with a token in a file, and keep that token valid until the program stops. Do
    nothing without a role."""
    if not access.role:
        return
    path = access.folder / "aws-token"
    os.environ.update(variables(access, path))
    looked = threading.Event()
    arguments = (access.token, path, access.stop)
    threading.Thread(target=keep, args=arguments, kwargs={"looked": looked}, daemon=True).start()
    # The first requests would fail without the file.
    looked.wait(SOCKET_S)


def variables(access: OwnAccess, token: Path) -> dict[str, str]:
    """Return the SDK's settings (docs.aws.amazon.com, "AWS SDKs and Tools Reference Guide", "Assume role credential
    provider" and "AWS STS Regional endpoints")."""
    region = sorted(access.regions)[0]
    return {
        "AWS_ROLE_ARN": access.role,
        "AWS_ROLE_SESSION_NAME": access.machine[:64],
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_STS_REGIONAL_ENDPOINTS": "regional",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def keep(
    source: Callable[[], tuple[str, float]],
    path: Path,
    stop: threading.Event,
    *,
    wall: Callable[[], float] = time.time,
    looked: threading.Event | None = None,
) -> None:
    """Keep a valid token in a file that only this program reads, until stopped. ``looked`` is set after the first
    attempt."""
    until, last_error = 0.0, ""
    while True:
        try:
            if wall() > until - EARLY_S:
                token, until = source()
                new = path.with_suffix(".new")
                new.unlink(missing_ok=True)
                new.touch(mode=0o600)
                new.write_text(token, encoding="ascii")
                new.replace(path)
                last_error = ""
        except (NoTokenError, OSError) as error:
            if str(error) != last_error:
                last_error = str(error)
                log.warning("no token for AWS: %s", last_error)
        if looked is not None:
            looked.set()
        if stop.wait(LOOK_S):
            return
