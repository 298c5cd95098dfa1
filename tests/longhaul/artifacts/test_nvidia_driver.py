"""NVIDIA's driver in a depot: the names of it, for a named kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from longhaul.artifacts.nvidia_driver import DriverPackage, DriverRequest, driver_packages, drivers, parse_request
from longhaul.toolchain.errors import SetupError

BOTH = DriverPackage(
    suite="noble",
    branch="580",
    modules={"open": ("dkms-open",), "proprietary": ("dkms",)},
    libraries=("smi",),
    headers="linux-headers-{kernel}",
)
OLD = replace(BOTH, suite="bookworm", modules={"open": (), "proprietary": ("kernel-dkms",)})
KERNEL = "6.8.0-60-generic"


def test_the_open_modules_are_meant_where_there_are_any() -> None:
    assert BOTH.packages(KERNEL) == (f"linux-headers-{KERNEL}", "dkms-open", "smi")
    assert BOTH.packages(KERNEL, "proprietary") == (f"linux-headers-{KERNEL}", "dkms", "smi")
    assert OLD.packages(KERNEL) == (f"linux-headers-{KERNEL}", "kernel-dkms", "smi")
    with pytest.raises(SetupError, match="bookworm has no open modules of branch 580"):
        OLD.packages(KERNEL, "open")


def test_packages_are_of_the_release_that_is_named() -> None:
    known = {"ubuntu-24.04": BOTH, "debian-12": OLD}
    found = driver_packages(DriverRequest(suite="bookworm", kernel=KERNEL, kind=""), known)
    assert found == [("bookworm", f"linux-headers-{KERNEL}"), ("bookworm", "kernel-dkms"), ("bookworm", "smi")]
    with pytest.raises(SetupError, match=r"pinned for sid \(images/operating_systems.toml has noble, bookworm\)"):
        driver_packages(DriverRequest(suite="sid", kernel=KERNEL, kind=""), known)


def test_a_wish_is_read() -> None:
    assert parse_request(f"noble={KERNEL}") == DriverRequest(suite="noble", kernel=KERNEL, kind="")
    assert parse_request(f"noble={KERNEL}=open").kind == "open"


@pytest.mark.parametrize("text", ["", "noble", "noble=", "noble=generic", "noble=6.8=closed", "noble=6.8 x", "=6.8"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write SUITE=KERNEL"):
        parse_request(text)


def test_what_is_pinned_can_be_asked_for() -> None:
    known = drivers()
    assert {driver.suite for driver in known.values()} == {"bookworm", "noble"}
    for driver in known.values():
        assert driver.packages(KERNEL)
