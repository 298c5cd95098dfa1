"""An environment with a site in each cloud, and a Packer that only records its calls."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.longhaul.conftest import SUBSCRIPTION, Checkout
from tests.support.programs import write_program
from tests.support.project import hybrid

GALLERY = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/pictures/providers/Microsoft.Compute/galleries/longhaul/images"
SECRET = "a-service-principals-secret"


@dataclass(frozen=True, kw_only=True)
class FakePacker:
    folder: Path
    checkout: Checkout

    def told(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "told").read_text()))

    def was_started(self) -> bool:
        return (self.folder / "told").exists()

    def does(self, what: str, text: str = "") -> None:
        (self.folder / what).write_text(text)

    def kept(self) -> Path:
        """Folder of the one bake."""
        (folder,) = self.checkout.home.glob(".local/state/longhaul/*/images/*")
        return folder


@pytest.fixture(scope="session", name="key")
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=3072)


@pytest.fixture(name="packer")
def _packer(checkout: Checkout, tmp_path: Path, key: rsa.RSAPrivateKey, monkeypatch: pytest.MonkeyPatch) -> FakePacker:
    """An environment with a site in each cloud, credentials for both, and a Packer that only records its calls."""
    # One key for all bakes here: making it takes most of the time of one.
    monkeypatch.setattr(rsa, "generate_private_key", lambda **_size: key)
    raw = hybrid("dev", supernet="10.64.0.0/12")
    raw["sites"]["weu"] |= {"subscription": SUBSCRIPTION, "image": f"{GALLERY}/node/versions/1.0.0"}
    (checkout.path / "stacks" / raw["bare_metal"]).write_text("hosts: []\n")
    checkout.write(raw)
    folder = tmp_path / "packer"
    main = "tests.longhaul.image.fake_packer"
    text = f"#!{sys.executable}\nimport sys\nfrom {main} import main\nsys.exit(main())\n"
    binary = write_program(folder / "packer", text)
    checkout.environ |= {
        "LONGHAUL_PACKER": str(binary),
        "FAKE_PACKER": str(folder),
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "example",
        "AZURE_CLIENT_ID": "11111111-0000-4000-8000-00000000000a",
        "AZURE_CLIENT_SECRET": SECRET,
        "PKR_VAR_ssh_sources": '["0.0.0.0/0"]',
        "TMPDIR": str(tmp_path),
    }
    return FakePacker(folder=folder, checkout=checkout)
