"""Sites: the places of machines, in every known cloud."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clouds.base.site import SiteBase
from clouds.registry import clouds

if TYPE_CHECKING:
    Site = SiteBase
else:
    Site = Annotated[reduce(or_, (cloud.site_type for cloud in clouds().values())), Field(discriminator="kind")]
