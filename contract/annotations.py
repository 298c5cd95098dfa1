"""Annotations of Nodes, pods and other objects, by their keys."""

from __future__ import annotations

from contract.labels import GROUP_LABEL, SITE_LABEL

# Of a Node: what the autoscaler does with it, and may do.
SCALE_IN = "longhaul.dev/scale-in-since"
"""Annotation of a Node that the autoscaler cordoned, written with the cordon: the time, RFC 3339."""
KEEP = "longhaul.dev/keep"
"""Annotation of a Node that the autoscaler leaves alone, with any value but ``false``."""

# Of a Node: what a roll does with it. All of these have the same prefix.
ROLL = "longhaul.dev/roll"
"""Annotation of a Node that a roll cordoned: the target of the roll. A cordon without this annotation was made by
somebody else."""
ROLL_SINCE = "longhaul.dev/roll-since"
"""Annotation with the time of the cordon, RFC 3339, by the API servers' clock."""
ROLL_STAGE = "longhaul.dev/roll-stage"
"""Annotation with the stage of the machine's replacement; absent until the replacement begins."""

# Of a Node: its reports about itself.
AUTHORITIES = "longhaul.dev/authorities"
"""Annotation with the authorities of API servers that the node trusts: the SHA-256 of each authority's certificate, in
the order of the node's file, separated by commas."""
AUTHORITIES_BOOT = "longhaul.dev/authorities-boot"
"""Annotation with the kernel's id of the boot in which the node reported its authorities. After another boot the report
is void: a rebuilt machine with the same name trusts the authorities in its older user data, and reports them only
minutes later."""
GPU_BOOT = "longhaul.dev/gpu-preflight-boot"
"""Annotation with the kernel's id of the boot in which the conditions of the node's GPUs were written. After another
boot the conditions are void: GPUs that were healthy may not have come back."""

# Of a pod.
CHECKPOINT = "longhaul.dev/checkpointed-at"
"""Annotation by which a pod announces that it has saved everything it needs to continue elsewhere: the time of the
checkpoint, RFC 3339."""
DISPOSABLE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation, ``true``, of a pod that may be moved at any time. The cluster autoscaler defines it
(github.com/kubernetes/autoscaler, cluster-autoscaler/FAQ.md, "What types of pods can prevent CA from removing a
node?"), so pods need no other annotation for Longhaul."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a pod that the kubelet runs from its own file (k8s.io/api/core/v1, ``MirrorPodAnnotationKey``)."""

# Of a certificate request: what a machine has proved, according to the join endpoint.
PROVED_SITE = SITE_LABEL
PROVED_MACHINE = "longhaul.dev/machine"

# Of an OCI layout.
IMAGE_NAME = "io.containerd.image.name"
"""Annotation with the name that `ctr images import` gives to an image."""

# Of our own objects.
GROUP_ANNOTATION = GROUP_LABEL
"""Annotation of a binding: the group's name, which may contain characters that an object's name cannot. The label of a
Node for its scale set has the same key."""
CONFIG_DIGEST = "longhaul.dev/config"
"""Digest of a pod's configuration, for programs that read it once: a changed digest makes a new pod."""
FIELD_MANAGER = "pulumi.com/patchFieldManager"
"""Annotation that tells Pulumi's provider the field manager's name for server-side apply. The provider's default is
random for each object and is lost with a killed run. With a fixed name, the next run continues with the existing
objects."""
SKIP_AWAIT = "pulumi.com/skipAwait"
"""Annotation, ``true``, of an object: Pulumi's provider does not wait until the object is ready."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim whose pod has a node, so that its volume can be made there (kubernetes 1.36,
``k8s.io/component-helpers/storage/volume``, ``AnnSelectedNode``)."""
