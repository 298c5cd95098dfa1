"""Lists the corrections of moto in the lab's AWS, and the differences from AWS that remain.

Each correction names the test that checks it (in ``tests/lab/cloud/aws``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Correction:
    """One error of moto 5.2.5, and its correction."""

    moto: str
    """Behaviour of moto."""
    here: str
    """Behaviour of the lab, the same as that of AWS."""
    test: str
    """Test of the correction, as ``file::test``."""


CORRECTIONS = (
    Correction(
        moto="answers anybody: credentials and signatures are not looked at",
        here="every request is signed by a known key, or refused; sessions end; a role may do what its policies say",
        test="test_access.py::test_who_is_not_known_is_refused",
    ),
    Correction(
        moto="takes parameters that it does not know, and does nothing with them",
        here="an action or a parameter that is not in the table is an error",
        test="test_actions.py::test_what_is_not_listed_is_an_error",
    ),
    Correction(
        moto="loses everything when its process ends",
        here="state is kept in one file, written before a change is answered",
        test="test_state.py::test_a_restart_changes_nothing",
    ),
    Correction(
        moto="gives every VPN connection the same two tunnels, whatever was asked",
        here="each tunnel has an outside address and a key of its own, and the options that were asked for",
        test="test_vpn.py::test_tunnels_are_each_their_own",
    ),
    Correction(
        moto="has no routes of VPN connections and no telemetry",
        here="static routes exist, and telemetry says what the lab's tunnels do",
        test="test_vpn.py::test_telemetry_is_what_the_hypervisor_sees",
    ),
    Correction(
        moto="makes a new customer gateway for every request, and forgets its device name",
        here="one with the same type, address, AS number and device name is returned, as CreateCustomerGateway's "
        "reference says",
        test="test_vpn.py::test_an_identical_customer_gateway_is_the_existing_one",
    ),
    Correction(
        moto="invents public addresses of anybody's networks",
        here="they come from 198.51.100.96/27, each once",
        test="test_vpn.py::test_public_addresses_are_unique",
    ),
    Correction(
        moto="has no quotas of Elastic IPs and VPN connections",
        here="AddressLimitExceeded and VpnConnectionLimitExceeded beyond AWS's defaults, until a test sets others: 5 "
        "addresses a region, 10 connections a gateway and 50 a region",
        test="test_vpn.py::test_quotas_are_awss_defaults",
    ),
    Correction(
        moto="forgets a launch template's metadata options, instance profile and interface tags in a group",
        here="group instances have them",
        test="test_launching.py::test_group_instances_are_what_their_template_says",
    ),
    Correction(
        moto="passes over Ipv4PrefixCount",
        here="an interface gets a free /28, out of the subnet's reservations for prefixes where there are any",
        test="test_launching.py::test_prefixes_come_from_the_reservations",
    ),
    Correction(
        moto="accepts user data of any size, and cannot launch from a template's second version",
        here="16,384 bytes before encoding; every version can be launched from",
        test="test_launching.py::test_user_data_is_limited",
    ),
    Correction(
        moto="answers 500 when a subnet is full, and hands out reserved addresses after a while",
        here="InsufficientFreeAddressesInSubnet or InsufficientCidrBlocks, as a failed scaling activity",
        test="test_launching.py::test_a_full_subnet_is_a_failed_activity",
    ),
    Correction(
        moto="puts all instances of a group into its first subnet",
        here="zones are filled evenly, and emptied so",
        test="test_scaling.py::test_zones_are_filled_evenly",
    ),
    Correction(
        moto="has no scaling activities and never runs out of capacity",
        here="activities are kept; capacity can be limited for a type and zone (`POST /capacity` at the lab's control "
        "socket), with the words of missing capacity, a quota of cores or of spot, a spot price or missing spot "
        "capacity; groups try again",
        test="test_scaling.py::test_capacity_can_run_out",
    ),
    Correction(
        moto="launches as many machines with p4d, p5 and p6 GPUs as are asked for",
        here="InsufficientInstanceCapacity, for every type of Capacity Blocks, until a test adds capacity",
        test="test_scaling.py::test_scarce_types_are_not_to_be_had",
    ),
    Correction(
        moto="accepts a size beyond a group's limits",
        here="ValidationError",
        test="test_scaling.py::test_sizes_keep_to_the_limits",
    ),
    Correction(
        moto="says of every instance of a group that it was launched from the template's default version",
        here="an instance keeps the version that it was launched from",
        test="test_scaling.py::test_an_instance_keeps_the_version_it_was_launched_from",
    ),
    Correction(
        moto="ends instances at once",
        here="they are shutting-down, and in their group, until their machine is gone",
        test="test_scaling.py::test_an_instance_ends_when_its_machine_is_gone",
    ),
    Correction(
        moto="does not know when a machine has switched itself off",
        here="its instance ends and its group launches another",
        test="test_scaling.py::test_a_machine_that_switched_itself_off_is_replaced",
    ),
    Correction(
        moto="adds security groups to an interface's own where they were to be replaced",
        here="an interface has the groups that ModifyNetworkInterfaceAttribute names",
        test="test_quarantine.py::test_a_machine_is_cut_off_kept_and_replaced",
    ),
    Correction(
        moto="detaches only what is the group's and passes over the rest, minimum or not",
        here="ValidationError; what is detached goes on, and another is launched unless the capacity is decremented",
        test="test_scaling.py::test_a_detached_instance_goes_on_and_is_replaced",
    ),
    Correction(
        moto="deletes a group with its instances, asked or not",
        here="ResourceInUse without ForceDelete",
        test="test_scaling.py::test_a_group_with_instances_is_not_deleted",
    ),
    Correction(
        moto="forgets a group as soon as its deletion is forced",
        here="it is `Delete in progress` until its last instance has ended, and launches none",
        test="test_scaling.py::test_a_deleted_group_drains",
    ),
    Correction(
        moto="deletes subnets, security groups, gateways and VPCs that are in use",
        here="DependencyViolation, IncorrectState or InvalidIPAddress.InUse",
        test="test_dependencies.py::test_what_is_in_use_stays",
    ),
    Correction(
        moto="admits any text as the description of a security group or of its rule",
        here="InvalidParameterValue for more than 255 characters, or others than `a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*`",
        test="test_rules.py::test_a_description_has_few_characters",
    ),
    Correction(
        moto="gives a NAT gateway an address outside its subnet, and keeps its elastic address for ever",
        here="an address of the subnet; deleting it frees both",
        test="test_dependencies.py::test_a_nat_gateway_frees_its_addresses",
    ),
    Correction(
        moto="has no secondary addresses of NAT gateways",
        here="a gateway has as many as its quota admits, 2 with the first unless a test sets another; each serves new "
        "connections",
        test="test_dependencies.py::test_addresses_of_a_nat_gateway_come_and_go",
    ),
    Correction(
        moto="lets any token assume any role",
        here="the token is verified with the tenant's keys, its audience with the provider's, its claims with the "
        "role's trust policy",
        test="test_web_identity.py::test_a_token_of_the_tenant_becomes_a_session",
    ),
    Correction(
        moto="cannot add or remove an OIDC provider's client ids",
        here="can",
        test="test_web_identity.py::test_client_ids_can_be_changed",
    ),
    Correction(
        moto="has no metadata service for instances",
        here="IMDSv2 at 169.254.169.254 in each VPC, tokens limited to the hops that the instance allows",
        test="test_metadata.py::test_tokens_are_required",
    ),
    Correction(
        moto="never takes a spot instance back, and passes over CapacityRebalance",
        here="`spot/instance-action` two minutes before its end, and `events/recommendations/rebalance`, at which a "
        "group with capacity rebalancing replaces the instance",
        test="test_metadata.py::test_a_spot_instance_is_told_before_it_is_taken_back",
    ),
)

REMAINING = (
    "Services: EC2, Auto Scaling, IAM and STS, with the actions of lab/cloud/aws/actions.py. All others, S3 among "
    "them, are refused. RunInstances is refused: instances come from groups.",
    "An instance is running as soon as it is launched, and InService in its group; it is never pending. Status checks "
    "are always ok.",
    "A terminated instance still shows the addresses that it had.",
    "Of several instances that TerminateInstanceInAutoScalingGroup names, either all end or none, and at the group's "
    "least size it is refused in DetachInstances' words; AWS says neither.",
    "Nothing takes time: gateways, connections and peerings are available at once, and an address leaves its NAT "
    "gateway without waiting for connections to end.",
    "The wish of a group without capacity is tried again every 10 seconds; AWS waits longer each time.",
    "A role's policy allows an action only with Resource * and without conditions. Resources and conditions in a "
    "statement that allows make it allow nothing; in one that denies they are passed over, so it denies everything.",
    "Trust policies know StringEquals and StringLike, with ForAnyValue; any other condition lets nobody in.",
    "A VPN connection without a static route has no tunnel; with AWS it would be up and carry nothing. There is no "
    "BGP, and of tunnels the key alone can be changed in place.",
    "Security groups filter TCP, UDP and ICMP of version 4, by range or by group; other permissions are refused.",
    "The default VPC exists in the API and not on the network.",
    "A VPC endpoint for S3 changes no route: there is no S3 behind it.",
    "Spot instances are taken back, or recommended to be replaced, only when a test says so; DescribeInstances does "
    "not tell that this was the reason.",
    "Machines have one network interface, and nobody reserves capacity: launch templates with network cards, Elastic "
    "Fabric Adapters or a reservation are refused, and so are placement groups.",
    "The /28 at either end of a subnet is never delegated, since it holds addresses that EC2 keeps for itself; AWS "
    "does not say what it does.",
    "Instance metadata has no signatures of the identity document, and no IPv6.",
)
"""Differences from AWS that remain."""


def page() -> str:
    """Render the differences for docs/lab-differences.md."""
    rows = "\n".join(f"| {correction.moto} | {correction.here} |" for correction in CORRECTIONS)
    rest = "\n".join(f"- {line}" for line in REMAINING)
    return (
        "The API is held by [moto](https://docs.getmoto.org) 5.2.5, corrected where it differs from AWS:\n\n"
        f"| moto | the lab |\n|---|---|\n{rows}\n\nWhat is still not as in AWS:\n\n{rest}\n"
    )
