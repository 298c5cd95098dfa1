"""Are there credentials, and whose."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.azure.site import AzureSite
from clouds.base.findings import Finding, ok, problem, warning
from longhaul.doctor.aws import Aws
from longhaul.doctor.azure import RESOURCES_VERSION, Azure
from longhaul.doctor.subject import Subject


def imaginary(subject: Subject) -> Iterator[Finding]:
    """Subscriptions that no cloud has."""
    for name, site in subject.environment.sites.items():
        if isinstance(site, AzureSite) and subject.imaginary(site):
            yield problem(
                f"the subscription {site.subscription} is an example's: no cloud has it",
                subject.at("sites", name, "subscription"),
                do="write your own (`az account show`)",
            )


def azure(subject: Subject, client: Azure, subscription: str) -> Iterator[Finding]:
    """Whether a subscription can be seen, is in use, and trusts the tenant that the file says: learn.microsoft.com,
    "Subscriptions - Get" (``displayName``, ``state``, ``tenantId``)."""
    names = subject.subscriptions()[subscription]
    found = client.get(f"/subscriptions/{subscription}", version=RESOURCES_VERSION)
    tenant, state = str(found["tenantId"]), str(found["state"])
    wrong = [name for name in names if subject.azure()[name].tenant != tenant]
    for name in wrong:
        yield problem(
            f"the subscription {subscription} is of the tenant {tenant}, the file says {subject.azure()[name].tenant}",
            subject.at("sites", name, "tenant"),
            do=f"tenant: {tenant}, unless the subscription is the wrong one",
        )
    if state != "Enabled":
        yield problem(
            f"the subscription {subscription} is {state}",
            *(subject.at("sites", name, "subscription") for name in names),
            do="have it enabled, or name another one",
        )
    elif not wrong:
        said = f"Azure: the subscription {subscription} ({found.get('displayName')}) of the tenant {tenant}"
        yield ok(said, *subject.sites(*names))


def aws(subject: Subject, client: Aws) -> Iterator[Finding]:
    """Whose account it is, and whether that is the one that the file may say."""
    regions = subject.aws_regions()
    caller = client.caller(next(iter(regions)))
    sites = subject.sites(*subject.aws())
    declared = {name: site.account for name, site in subject.aws().items() if site.account is not None}
    for name, account in declared.items():
        if account != caller.account:
            said = f"AWS: the credentials are of the account {caller.account}, the file says {account}"
            yield problem(said, subject.at("sites", name, "account"), do="sign in to that one, or correct the file")
    if caller.arn.endswith(":root"):
        do = "sign in as a role that may do what docs/getting-started.md lists, and nothing else"
        yield warning(f"AWS: the account {caller.account}, as its root, who may do everything", *sites, do=do)
    elif set(declared.values()) <= {caller.account}:
        see = "" if declared else "; see that it is the one you mean"
        yield ok(f"AWS: the account {caller.account}, as {caller.arn}{see}", *sites)
