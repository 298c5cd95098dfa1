"""Production, and what it declares."""

from __future__ import annotations

import pytest

from components.model import Environment
from tests.support import production as make
from tests.support.declared import Program


@pytest.fixture(scope="session", name="production")
def _production() -> Environment:
    return make.production()


@pytest.fixture(scope="session", name="program")
def _program() -> Program:
    return make.production_program()
