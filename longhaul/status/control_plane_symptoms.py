"""Symptoms of the control plane: of its machines, of etcd clusters and their backups, and of the API."""

from __future__ import annotations

from collections.abc import Sequence

from contract.reasons.status import StatusReason
from longhaul.status.symptom import Symptom, SymptomSubject

_FAILED = "longhaul shell --env {env} {name} -- systemctl --failed"
_STATUS = "longhaul status --env {env}"
_UP = "longhaul up --env {env}"
_REPLACE = "longhaul up --env {env} --replace {name}"

MACHINES: Sequence[Symptom] = (
    Symptom(
        shows="a machine of the control plane is off (`down`: its POWER is `stopped` or `deallocated`) or gone "
        "(`missing`)",
        look=_STATUS,
        mend=_UP,
        advice="which starts it, or makes it anew. While it is `starting` or `stopping`, wait. `--replace` is for a "
        "machine that runs and stays `unhealthy`",
        page="operations.md#a-machine-is-off",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.NOT_RUNNING, StatusReason.NOT_IN_CLOUD),
    ),
    Symptom(
        shows="etcd accepts no writes: `alarm NOSPACE`, `mvcc: database space exceeded`",
        look=_STATUS,
        mend="longhaul up --env {env} --reclaim etcd --only infrastructure",
        advice="or `--reclaim events`, as the message says",
        page="operations.md#an-etcd-cluster-reaches-its-quota",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
        words="alarm NOSPACE",
    ),
    Symptom(
        shows="etcd accepts no writes: `alarm CORRUPT`",
        look=_STATUS,
        advice="replace the machine that the message names: `longhaul up --env {env} --replace MACHINE`; if it names "
        "none, [restore](restore.md)",
        page="operations.md#a-members-data-disk-is-full-or-corrupt",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
        words="alarm CORRUPT",
        stated=True,
    ),
    Symptom(
        shows="a member's data disk is full",
        look="longhaul shell --env {env} {name} -- du -ah --max-depth=1 /var/lib/longhaul/ssd",
        mend=_REPLACE,
        advice="or delete what fills it, if that is not `etcd`, `backup`, `disk-gate.json` or `lost+found`. A "
        "learner's disk outlives its machine: raise its `disk_gib`",
        page="operations.md#a-members-data-disk-is-full-or-corrupt",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
        words="the data disk is full",
    ),
    Symptom(
        shows="a member's data is corrupt, and it does not start: `found data inconsistency with peers`",
        look="longhaul shell --env {env} {name} -- journalctl --unit etcd --lines 50",
        mend=_REPLACE,
        page="operations.md#a-members-data-disk-is-full-or-corrupt",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
        words="found data inconsistency",
    ),
    Symptom(
        shows="a member does not start: the data on its disk is of a member that was removed from the cluster, or of "
        "another cluster",
        look="longhaul shell --env {env} {name} -- journalctl --unit etcd --lines 50",
        mend=_REPLACE,
        advice="which makes it anew with an empty disk; for the learner do what the message says",
        page="operations.md#a-members-data-disk-is-full-or-corrupt",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
        words="the data on this disk is of",
    ),
    Symptom(
        shows="a member's data disk is too slow, and it does not join: `fdatasync takes` …",
        look="longhaul shell --env {env} {name} -- journalctl --unit longhaul-disk-gate",
        mend=_REPLACE,
        advice="and another machine type, if the next disk is as slow",
        page="operations.md#a-members-disk-is-too-slow",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED,),
        words="fdatasync takes",
    ),
    Symptom(
        shows="a machine of the control plane is `unhealthy`: an etcd member, an API server, a machine that the cloud "
        "failed to provision",
        look=_FAILED,
        mend=_REPLACE,
        advice="if it stays so",
        page="operations.md#replace-machines-a-new-image-another-size-changed-settings",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CHECKS_FAILED, StatusReason.PROVISIONING_FAILED),
    ),
    Symptom(
        shows="a machine or a member is `unexpected`: it exists, and the file does not declare it",
        look="longhaul plan --env {env}",
        advice="`longhaul up --env {env}` removes it if the file has lost it since the last `up`; another belongs to "
        "somebody else: ask, then end it in the cloud",
        page="operations.md#shrink-an-etcd-cluster",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.NOT_IN_FILE,),
    ),
    Symptom(
        shows="a certificate of the control plane ends soon, or has ended",
        look=_STATUS,
        mend=_UP,
        page="certificates.md#a-certificate-ends-soon-or-has-ended",
        subject=SymptomSubject.CONTROL_MACHINE,
        reasons=(StatusReason.CERTIFICATE_ENDED, StatusReason.CERTIFICATE_ENDS_SOON),
    ),
    Symptom(
        shows="kubectl: `certificate has expired or is not yet valid`, and `status` names none",
        look="kubectl config view",
        mend="longhaul kubeconfig --env {env}",
        advice="if your own certificate has ended; otherwise compare the machine's clock",
        page="certificates.md#an-administrators-certificate",
    ),
)

ETCD: Sequence[Symptom] = (
    Symptom(
        shows="an etcd cluster is `degraded`: a member or the learner is unhealthy, unexpected, or not in the "
        "cluster's list",
        look=_STATUS,
        advice="mend its machine, whose row has the command; the cluster works meanwhile",
        page="operations.md#something-is-gone",
        subject=SymptomSubject.ETCD_CLUSTER,
        reasons=(StatusReason.MEMBERS_UNHEALTHY, StatusReason.NOT_A_MEMBER),
        stated=True,
    ),
    Symptom(
        shows="an etcd cluster has lost its quorum (`down`)",
        look=_STATUS,
        mend=_UP,
        advice="which starts or makes its machines; only if their data is lost for good: "
        "`longhaul restore --env {env} --key KEYFILE`",
        page="restore.md#is-it-needed",
        subject=SymptomSubject.ETCD_CLUSTER,
        reasons=(StatusReason.QUORUM_LOST,),
        stated=True,
    ),
    Symptom(
        shows="an etcd cluster has no backup, or no recent one",
        look="longhaul backups --env {env}",
        mend="longhaul backups --env {env} --now",
        advice="which makes one, or shows why it fails",
        page="backups.md#how-one-is-made",
        subject=SymptomSubject.ETCD_CLUSTER,
        reasons=(StatusReason.NO_BACKUP, StatusReason.BACKUP_LATE),
    ),
    Symptom(
        shows="the storage of backups has blobs that do not count as backups",
        look="longhaul backups --env {env}",
        advice="find out who made them; they stay until their retention ends, and hold no backup back",
        page="backups.md#what-counts-as-a-backup-and-what-a-thief-can-do",
        subject=SymptomSubject.ETCD_CLUSTER,
        reasons=(StatusReason.BLOBS_REJECTED,),
    ),
    Symptom(
        shows="old backups are not deleted",
        look="longhaul backups --env {env}",
        advice="delete them by hand: the page has the commands",
        page="backups.md#what-is-kept",
        subject=SymptomSubject.ETCD_CLUSTER,
        reasons=(StatusReason.BACKUPS_NOT_DELETED,),
    ),
)

API: Sequence[Symptom] = (
    Symptom(
        shows="some API servers, or all, are not ready",
        look=_STATUS,
        advice="mend their machines, whose rows have the commands; if none is ready, begin with the etcd cluster",
        page="operations.md#an-api-server-hangs",
        subject=SymptomSubject.API,
        reasons=(StatusReason.SERVERS_UNHEALTHY, StatusReason.NO_SERVER_READY),
        stated=True,
    ),
    Symptom(
        shows="API servers are ready, but cannot be reached through the load balancer",
        look="kubectl get --raw /readyz",
        mend="longhaul up --env {env} --only infrastructure",
        advice="which makes a deleted or changed load balancer as it was; a certificate that is refused is another "
        "matter",
        page="certificates.md#a-certificate-ends-soon-or-has-ended",
        subject=SymptomSubject.API,
        reasons=(StatusReason.LOAD_BALANCER_FAILED,),
    ),
)
