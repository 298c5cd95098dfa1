"""An AWS account's existing identity provider must be the one of the control plane's tenant, and the boundary of roles
a policy of the sites' account."""

from __future__ import annotations

from pathlib import Path

from components.model import load
from tests.model import make
from tests.model.files import only, write

OTHER = "00000000-0000-4000-8000-00000000000f"
HEAD = "arn:aws:iam::123456789012:oidc-provider/sts.windows.net"


def test_another_tenant_s_provider_is_refused(tmp_path: Path) -> None:
    raw = make.minimal()
    raw["access"]["aws_identity_provider"] = f"{HEAD}/{OTHER}/"
    problem = only(write(tmp_path, raw))
    assert problem.key == "access.aws_identity_provider"
    assert "not the issuer of the control plane's tenant" in problem.wrong
    assert problem.write == f"{HEAD}/{make.UUID}/"


def test_the_tenant_s_own_is_taken(tmp_path: Path) -> None:
    raw = make.minimal()
    raw["access"]["aws_identity_provider"] = f"{HEAD}/{make.UUID}/"
    assert load(write(tmp_path, raw)).access.aws_identity_provider == f"{HEAD}/{make.UUID}/"


def test_what_is_no_provider_of_entra_s_is_refused(tmp_path: Path) -> None:
    raw = make.minimal()
    raw["access"]["aws_identity_provider"] = "arn:aws:iam::123456789012:oidc-provider/accounts.google.com"
    assert only(write(tmp_path, raw)).key == "access.aws_identity_provider"


def test_a_permissions_boundary_is_of_the_sites_account(tmp_path: Path) -> None:
    raw = make.full()
    raw["sites"]["use1"]["account"] = "123456789012"
    raw["access"]["aws_permissions_boundary"] = "arn:aws:iam::210987654321:policy/boundary"
    problem = only(write(tmp_path, raw, hosts=make.hosts()))
    assert problem.key == "access.aws_permissions_boundary"
    assert problem.write == "arn:aws:iam::123456789012:policy/boundary"
