"""With the real engine, new machines learn of both authorities of API servers only where a rotation has that read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.control_plane import issuing
from components.model.secrets.rotations import READ_VARIABLE
from longhaul.rotate.kubernetes import users_in
from tests.components.control_plane.authorities_program import SIZE
from tests.components.control_plane.test_tunnel_keys_engine import Stack

pytestmark = pytest.mark.engine


class Authorities(Stack):
    """A project with one stack of ``authorities_program.py``."""

    program = "authorities_program"

    def targets(self) -> list[str]:
        found = list(self.resources().values())
        return [word for urn in users_in(found) for word in ("--target", urn)]

    def read(self) -> None:
        """Run what a rotation runs."""
        self.run("up", "--yes", "--skip-preview", *self.targets(), **{READ_VARIABLE: "yes"})

    def secret(self, name: str) -> str:
        return (self.vault / name).read_text()

    @property
    def user_data(self) -> str:
        return str(self.resources()["template"]["outputs"]["text"])


def test_new_machines_learn_of_both_and_nothing_else_changes(tmp_path: Path) -> None:
    stack = Authorities(tmp_path)
    stack.up()
    former, leaf = stack.secret("trust-kubernetes"), stack.secret("leaf")
    assert stack.user_data == f"1\n{former}"
    assert [one.rpartition("::")[2] for one in stack.targets()[1::2]] == ["ca", "template"]

    new = issuing.new_authority(common_name="dev Kubernetes", days=3650, key=issuing.new_key())
    (stack.vault / "trust-kubernetes").write_text(former + new.certificate)
    stack.run("up", "--yes", "--skip-preview", "--expect-no-changes")
    # As it is found that something else would change with it.
    stack.run("preview", "--expect-no-changes", *stack.targets())
    stack.run("preview", "--expect-no-changes", *stack.targets(), fails=True, **{SIZE: "2"})
    stack.read()
    assert stack.user_data == f"1\n{former}{new.certificate}"
    assert stack.outputs() == {"kubernetes_ca": former + new.certificate}
    stack.run("preview", "--expect-no-changes")

    (stack.vault / "ca-kubernetes").write_text(json.dumps({"certificate": new.certificate, "key": new.key}))
    (stack.vault / "trust-kubernetes").write_text(new.certificate)
    stack.run("preview", "--expect-no-changes")
    stack.read()
    assert stack.user_data == f"1\n{new.certificate}"
    assert stack.secret("leaf") == leaf
    # The next one issues what is below it.
    stack.up()
    (issued,) = issuing.certificates_in(json.loads(stack.secret("leaf"))["certificate"])
    assert issuing.is_issued_by(issued, new.certificate)
    stack.run("preview", "--expect-no-changes")
