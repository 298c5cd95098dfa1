"""Rules for an environment in any cloud. Each cloud's own checks (``clouds/*/policy.py``) decide which resources
satisfy the rules. docs/policy.md is written from this module."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.policy import Rule

PUBLIC_ADDRESS = Rule(
    id="public-address",
    reason=(
        "Every public address is the egress of a site, its IPsec gateway or a machine of the laptops' VPN: any other "
        "is a way in."
    ),
    source="CIS Azure v4.0.0, 8.7; docs/network.md",
)

PUBLIC_INTERFACE = Rule(
    id="public-interface",
    reason=(
        "Only machines of the laptops' VPN have a public address; every other interface declares that it has "
        "none, instead of relying on the subnet's default."
    ),
    source="AWS Security Hub EC2.9 and EC2.25; CIS Azure v4.0.0, 8.7",
)

PUBLIC_LOAD_BALANCER = Rule(
    id="public-load-balancer",
    reason="Load balancers are internal: the API is for the environment's own addresses.",
    source="docs/lessons.md, 9; docs/network.md",
)

PUBLIC_ROUTE = Rule(
    id="public-route",
    reason=(
        "Only the subnets of NAT gateways have a route to an internet gateway, since a machine with a public "
        "address would be reachable in any other subnet."
    ),
    source="AWS Security Hub EC2.172; components/aws/network.py",
)

PUBLIC_SUBNET = Rule(
    id="public-subnet",
    reason="No subnet gives public addresses to machines that start in it.",
    source="AWS Security Hub EC2.15",
)

INGRESS = Rule(
    id="ingress",
    reason=(
        "Inbound traffic comes from the environment's supernet or from a declared operator range; only IKE and ESP "
        "may come from anywhere, and OpenVPN and its sign-in where `vpn` is declared."
    ),
    source="CIS AWS v5.0.0, 5.3 and 5.4; CIS Azure v4.0.0, 8.1 to 8.4; docs/lessons.md, 9",
)

SUBNET_WITHOUT_RULES = Rule(
    id="subnet-without-rules",
    reason="Every subnet on Azure has a security group: without one, nothing limits traffic from peers and links.",
    source="learn.microsoft.com, Network security groups, Default security rules",
)

STORE_NETWORK = Rule(
    id="store-network",
    reason="A vault or storage account admits named subnets and declared operator ranges, and nobody else.",
    source="CIS Azure v4.0.0, 9.3.7, 10.3.2.2 and 10.3.2.3; docs/certificates.md",
)

STORE_ANONYMOUS = Rule(
    id="store-anonymous",
    reason="Nothing is read without signing in: no anonymous blobs, no public buckets.",
    source="CIS AWS v5.0.0, 2.1.4; AWS Security Hub S3.8 and S3.12; CIS Azure v4.0.0, 10.3.9",
)

VAULT_RECOVERABLE = Rule(
    id="vault-recoverable",
    reason=(
        "A vault keeps deleted secrets for its retention and cannot be purged during it, because the authorities' "
        "keys are nowhere else; an environment that is declared destroyable is exempt, and `destroy` purges its vault."
    ),
    source="CIS Azure v4.0.0, 9.3.5; docs/certificates.md",
)

# Buckets need no rule: S3 has encrypted every object since January 2023 (docs.aws.amazon.com, "Using server-side
# encryption with Amazon S3 managed keys") and Azure Storage every blob (learn.microsoft.com, "Azure Storage encryption
# for data at rest"); neither can be turned off.
DISK_ENCRYPTED = Rule(
    id="disk-encrypted",
    reason="Every disk declares its own encryption, instead of relying on the account's default.",
    source="CIS AWS v5.0.0, 2.3.1 and 5.1.1; AWS Security Hub EC2.3 and EC2.181",
)

ENCRYPTION_AT_HOST = Rule(
    id="encryption-at-host",
    reason=(
        "Azure always encrypts managed disks, but their caches and the temporary disk only with encryption at host."
    ),
    source='Azure Policy, "Virtual machines and virtual machine scale sets should have encryption at host enabled"',
)

TLS = Rule(
    id="tls",
    reason="A cloud's services for the environment speak TLS 1.2 or newer, and nothing in plain text.",
    source="CIS Azure v4.0.0, 10.3.4 and 10.3.7; AWS Security Hub ELB.18",
)

IMDSV2 = Rule(
    id="imdsv2",
    reason="Instance metadata answers only requests with a token: otherwise a forged request could read the role's "
    "credentials.",
    source="CIS AWS v5.0.0, 5.7; AWS Security Hub EC2.8 and EC2.170",
)

METADATA_HOP_LIMIT = Rule(
    id="metadata-hop-limit",
    reason="Metadata answers travel one hop, to the instance itself: a pod, one hop further, must not get its "
    "identity.",
    source="AWS Security Hub AutoScaling.4; components/aws/pools.py",
)

IAM_ACTIONS = Rule(
    id="iam-actions",
    reason="A role names its actions: neither `*` nor all of a service, since their number grows with the service.",
    source="CIS AWS v5.0.0, 1.15; AWS Security Hub IAM.1 and IAM.21",
)

IAM_RESOURCES = Rule(
    id="iam-resources",
    reason="A role names the resources of its actions, unless an action cannot be limited to a resource.",
    source="docs.aws.amazon.com, Service Authorization Reference, Actions, resources, and condition keys",
)

IAM_PRINCIPALS = Rule(
    id="iam-principals",
    reason=(
        "Policies of roles, buckets and keys name the principals that they admit, and name an identity provider's "
        "identities by audience and subject."
    ),
    source="docs.aws.amazon.com, Create a role for OpenID Connect federation; AWS Security Hub KMS.5",
)

IAM_MANAGED_POLICIES = Rule(
    id="iam-managed-policies",
    reason="No identity has a managed policy that spans services: it allows more than Longhaul calls.",
    source="CIS AWS v5.0.0, 1.15; docs.aws.amazon.com, AWS managed policies for job functions",
)

STANDING_KEYS = Rule(
    id="standing-keys",
    reason="Programs prove their identity with tokens that expire: a permanent key can be copied once and used "
    "for ever.",
    source="CIS AWS v5.0.0, 1.20; components/aws/web_identity.py",
)

VAULT_ROLES = Rule(
    id="vault-roles",
    reason="A vault uses roles, which are assigned for single secrets; its own access policies open all secrets.",
    source="CIS Azure v4.0.0, 9.3.6; docs/certificates.md",
)

PASSWORD_LOGIN = Rule(
    id="password-login",
    reason="People sign in to machines with a key: passwords can be guessed.",
    source='Azure Policy, "Authentication to Linux machines should require SSH keys"',
)

AZURE_PRIVILEGED_ROLE = Rule(
    id="azure-privileged-role",
    reason="No identity that the program makes has a role with all rights, or a role that assigns roles.",
    source="CIS Azure v4.0.0, 6.3.3 and 6.3.4",
)

AZURE_SCOPE = Rule(
    id="azure-scope",
    reason="A role is assigned on a resource group or less: a subscription also contains resources of others.",
    source="learn.microsoft.com, Best practices for Azure RBAC, Only grant the access users need",
)

AZURE_ACTIONS = Rule(
    id="azure-actions",
    reason="A custom role names its operations: neither `*` nor all of a provider, since their number grows.",
    source="CIS Azure v4.0.0, 6.23",
)

SECRET_IN_USER_DATA = Rule(
    id="secret-in-user-data",
    reason="User data contains no secret: everybody who may describe the machine can read it.",
    source='learn.microsoft.com, "User Data for Azure Virtual Machine", Security warning; docs/certificates.md',
    waivable=False,
)

SECRET_IN_PLAIN = Rule(
    id="secret-in-plain",
    reason="A property with a secret is marked as secret: otherwise the engine's state and every log would show it.",
    source="pulumi.com, Secrets; docs/certificates.md",
    waivable=False,
)

TAGS = Rule(
    id="tags",
    reason=(
        "Every resource that can have tags has those of its environment and site, and machines also that of "
        "their pool or role: nobody finds a resource without tags."
    ),
    source="the environment file's `tags`; clouds/base/tags.py",
)


THEMES: Mapping[str, tuple[Rule, ...]] = {
    "At the internet": (
        PUBLIC_ADDRESS,
        PUBLIC_INTERFACE,
        PUBLIC_LOAD_BALANCER,
        PUBLIC_ROUTE,
        PUBLIC_SUBNET,
        INGRESS,
        SUBNET_WITHOUT_RULES,
    ),
    "Vaults, storage accounts and buckets": (STORE_NETWORK, STORE_ANONYMOUS, VAULT_RECOVERABLE),
    "Encryption": (DISK_ENCRYPTED, ENCRYPTION_AT_HOST, TLS),
    "Instance metadata": (IMDSV2, METADATA_HOP_LIMIT),
    "Who may do what": (
        IAM_ACTIONS,
        IAM_RESOURCES,
        IAM_PRINCIPALS,
        IAM_MANAGED_POLICIES,
        STANDING_KEYS,
        VAULT_ROLES,
        PASSWORD_LOGIN,
        AZURE_PRIVILEGED_ROLE,
        AZURE_SCOPE,
        AZURE_ACTIONS,
    ),
    "Secrets": (SECRET_IN_USER_DATA, SECRET_IN_PLAIN),
    "Tags": (TAGS,),
}
"""Rules by theme, in the order of docs/policy.md."""

RULES: tuple[Rule, ...] = tuple(rule for rules in THEMES.values() for rule in rules)
