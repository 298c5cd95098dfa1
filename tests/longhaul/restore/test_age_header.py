"""The header of a file that age encrypted, opened with one key and made for another."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from longhaul.restore.age_header import HeaderError, identities, read_header, unwrap, wrap
from tests.longhaul.restore.test_restore import PUBLIC, SECRET


def test_a_file_key_is_given_to_another_key_and_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"# created: today\n# public key: {PUBLIC}\n{SECRET}\n")
    keys = identities(tmp_path / "key")
    header = wrap(bytes(range(16)), PUBLIC)
    assert read_header(header + b"payload") == header
    assert unwrap(header, [X25519PrivateKey.generate(), *keys]) == bytes(range(16))
    with pytest.raises(HeaderError, match="none of the private keys opens it"):
        unwrap(header, [X25519PrivateKey.generate()])
    with pytest.raises(HeaderError, match="was changed"):
        unwrap(header.replace(b"\n---", b"\n-> other\n\n---"), keys)
    with pytest.raises(HeaderError, match="not whole"):
        read_header(header[:-2])
    with pytest.raises(HeaderError, match="does not begin as a file of age"):
        read_header(b"sealed")
    with pytest.raises(HeaderError, match="no public key"):
        wrap(bytes(16), PUBLIC.replace("1lv", "1vl"))
