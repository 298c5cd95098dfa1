"""Nimbus's interface, which is as imaginary as Nimbus: an account is a file of JSON, that :data:`ACCOUNT` names.

{"project": "physics", "cores": {"north-1": 64}, "images": ["image-4"], "fabrics": ["fabric-17"],
 "flocks": {"dev-work": {"image": "image-4", "size": 1, "birds": {"dev-work-0": "image-4"}}},
 "addresses": {"192.0.2.1": "dev-links-nim"}, "tunnels": {"dev-links-weu-nim-0": true}}
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from clouds.base.errors import CloudError

ACCOUNT = "NIMBUS_ACCOUNT"
"""Environment variable with the path of that file."""


def account() -> dict[str, Any]:
    """Return the content of the account; ``CloudError`` when no account is set."""
    path = os.environ.get(ACCOUNT)
    if not path:
        raise CloudError(f"Nimbus: nobody is signed in, {ACCOUNT} is not set", answered=False)
    try:
        found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CloudError(f"Nimbus does not answer: {error}", passing=True, answered=False) from None
    return found


def save(changed: dict[str, Any]) -> None:
    """Write the account."""
    Path(os.environ[ACCOUNT]).write_text(json.dumps(changed), encoding="utf-8")
