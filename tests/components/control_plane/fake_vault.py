"""A vault in memory, in the place of the components' own."""

from __future__ import annotations

URL = "https://vault.example"


class FakeVault:
    """A vault in memory; every instance is the same one."""

    values: dict[str, str]

    def __init__(self, url: str) -> None:
        assert url == URL

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def set(self, name: str, value: str, *, content_type: str = "") -> str:
        self.values[name] = value
        return name
