"""Disks are encrypted, and connections to what clouds offer speak TLS 1.2 or newer.

Buckets need no rule: S3 has encrypted every object since January 2023 (docs.aws.amazon.com, "Using server-side
encryption with Amazon S3 managed keys") and Azure Storage every blob (learn.microsoft.com, "Azure Storage encryption
for data at rest"); neither can be told not to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from longhaul.policy.declared import Declared
from longhaul.policy.resource import INSTANCE, LAUNCH_TEMPLATE, SCALE_SET, STORAGE_ACCOUNT, VIRTUAL_MACHINE, Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import at, is_true, sections, shown

WHOLE = ("aws:ebs/volume:Volume", "aws:efs/fileSystem:FileSystem")
"""Kinds that are encrypted as a whole or not."""

MODERN_TLS = ("TLS1_2", "TLS1_3")

MODERN_POLICY = re.compile(r"-TLS13-1-[23]-|-TLS-1-2-")
"""Predefined policies whose oldest protocol is TLS 1.2 (docs.aws.amazon.com, "Security policies for your Network Load
Balancer"); unless one is named, a listener takes ELBSecurityPolicy-2016-08, which has TLS 1.0."""

_LISTENER = "aws:lb/listener:Listener"


def _disk(resource: Resource, _: Declared) -> Iterator[Fault]:
    inputs = resource.inputs
    if resource.kind in WHOLE:
        places = [("", inputs)]
    elif resource.kind == INSTANCE:
        # An instance of a template takes its disks from there.
        root = [] if inputs.get("launchTemplate") and not inputs.get("rootBlockDevice") else ["rootBlockDevice"]
        places = [(name, at(inputs, name)) for name in root] + sections(inputs, "ebsBlockDevices")
    else:
        mappings = sections(inputs, "blockDeviceMappings")
        places = [(f"{place}.ebs", one["ebs"]) for place, one in mappings if one.get("ebs")]
        if not places:
            yield Fault(
                what="no blockDeviceMappings: whether the root disk is encrypted is left to its image",
                write="a mapping of the root device with encrypted: true",
            )
    for place, disk in places:
        encrypted = at(disk, "encrypted")
        if not is_true(encrypted):
            name = f"{place}.encrypted" if place else "encrypted"
            yield Fault(what=f"{name} is {shown(encrypted)}", write="encrypted: true")


def _host(resource: Resource, _: Declared) -> Iterator[Fault]:
    root = "virtualMachineProfile." if resource.kind == SCALE_SET else ""
    place = f"{root}securityProfile.encryptionAtHost"
    value = at(resource.inputs, place)
    if not is_true(value):
        yield Fault(what=f"{place} is {shown(value)}", write="encryptionAtHost: true")


def _tls(resource: Resource, _: Declared) -> Iterator[Fault]:
    if resource.kind == STORAGE_ACCOUNT:
        oldest = resource.inputs.get("minimumTlsVersion")
        if oldest not in MODERN_TLS:
            yield Fault(what=f"minimumTlsVersion is {shown(oldest)}", write="minimumTlsVersion: TLS1_2")
        # Left out, it is on (azure-native SDK, StorageAccountArgs.enable_https_traffic_only).
        if resource.inputs.get("enableHttpsTrafficOnly", True) is not True:
            yield Fault(what="enableHttpsTrafficOnly is false", write="enableHttpsTrafficOnly: true")
        return
    protocol = resource.inputs.get("protocol")
    policy = resource.inputs.get("sslPolicy")
    if protocol == "HTTP":
        yield Fault(what="the listener speaks HTTP", write="protocol: HTTPS, or TCP for what ends TLS itself")
    elif protocol in ("HTTPS", "TLS") and not MODERN_POLICY.search(str(policy)):
        yield Fault(what=f"sslPolicy is {shown(policy)}", write="sslPolicy: ELBSecurityPolicy-TLS13-1-2-2021-06")


RULES = (
    Rule(
        id="disk-encrypted",
        reason="Every disk says itself that it is encrypted, and does not hope for the account's default.",
        source="CIS AWS v5.0.0, 2.3.1 and 5.1.1; AWS Security Hub EC2.3 and EC2.181",
        kinds=frozenset({INSTANCE, LAUNCH_TEMPLATE, *WHOLE}),
        look=_disk,
    ),
    Rule(
        id="encryption-at-host",
        reason=(
            "Azure encrypts managed disks always, but their caches and the temporary disk only with encryption at host."
        ),
        source='Azure Policy, "Virtual machines and virtual machine scale sets should have encryption at host enabled"',
        kinds=frozenset({VIRTUAL_MACHINE, SCALE_SET}),
        look=_host,
    ),
    Rule(
        id="tls",
        reason="What a cloud serves for us speaks TLS 1.2 or newer, and nothing in plain.",
        source="CIS Azure v4.0.0, 10.3.4 and 10.3.7; AWS Security Hub ELB.18",
        kinds=frozenset({STORAGE_ACCOUNT, _LISTENER}),
        look=_tls,
    ),
)
