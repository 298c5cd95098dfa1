"""Who Packer is to the clouds: the same as all of Longhaul's commands, by each cloud's own ways."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from clouds.aws.session import AwsError, asked, shared
from longhaul.exits import CommandError

_SECRET = "PKR_VAR_azure_client_secret"  # noqa: S105 - a variable's name
_CLIENT = "PKR_VAR_azure_client_id"


def packer_credentials(cloud: str, environ: Mapping[str, str], *, needed: bool = True) -> dict[str, str]:
    """Variables for Packer's process, a secret among them perhaps: never for an argument or a file. ``CommandError``
    when there is nobody to be and one is ``needed``."""
    return _azure(environ, needed=needed) if cloud == "azure" else _aws(needed=needed)


def _azure(environ: Mapping[str, str], *, needed: bool) -> dict[str, str]:
    """A service principal's secret, or who is signed in with the Azure CLI: what Packer's plugin can be."""
    if environ.get("AZURE_CLIENT_ID") and environ.get("AZURE_CLIENT_SECRET"):
        return {_CLIENT: environ["AZURE_CLIENT_ID"], _SECRET: environ["AZURE_CLIENT_SECRET"]}
    if needed and shutil.which("az", path=environ.get("PATH")) is None:
        raise CommandError(
            "no Azure credentials: sign in with the Azure CLI (`az login`; in CI `az login --federated-token` or "
            "`--identity`), or set AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
        )
    return {_CLIENT: "", _SECRET: ""}


def _aws(*, needed: bool) -> dict[str, str]:
    """AWS's plugin looks for them as every AWS program does."""
    if not needed:
        return {}
    try:
        with asked("no AWS credentials"):
            found = shared().signed_in()
    except AwsError as error:
        raise CommandError(str(error)) from error
    if not found:
        raise CommandError("no AWS credentials: sign in (`aws sso login`), or set AWS_PROFILE or AWS_ACCESS_KEY_ID …")
    return {}
