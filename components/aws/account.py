"""The one provider for all AWS sites."""

from __future__ import annotations

import pulumi_aws as aws
from pulumi import ResourceOptions

from clouds.aws.site import AwsSite
from components.model import Environment


def account_provider(environment: Environment, opts: ResourceOptions | None = None) -> aws.Provider | None:
    """Return the provider of the environment's account, or ``None`` when it has no AWS site.

    Since version 7 of the provider every regional resource has a region, so one provider serves all sites. Every
    component here names its region; only calls of global services (IAM) use the provider's region. The provider is
    explicit, so that the stack file needs no `aws:region` beside the environment.
    """
    sites = [site for site in environment.sites.values() if isinstance(site, AwsSite)]
    if not sites:
        return None
    accounts = sorted({site.account for site in sites if site.account is not None})
    # With credentials of another account, the provider refuses to start.
    return aws.Provider(
        f"{environment.name}-aws", region=sites[0].region, allowed_account_ids=accounts or None, opts=opts
    )


def aws_site(environment: Environment, name: str) -> AwsSite:
    """Return the site called ``name``; raise ``TypeError`` when it is not on AWS."""
    site = environment.sites[name]
    if not isinstance(site, AwsSite):
        raise TypeError(f"site {name} is {site.kind}, not aws")
    return site
