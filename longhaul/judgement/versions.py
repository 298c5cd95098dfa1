"""Judges changes of ``versions`` before anything runs: the steps from running versions, and the skew between kubelets
and API servers."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Severity
from components.model import Role
from components.model.versions.section import companion_versions
from components.model.versions.steps import SKEW, TITLES, image_faults, is_taken_back, minor, step_refused
from contract.documents.node import PATH, version_of
from contract.reasons.plan import PlanReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.previous_environment import role_changes
from longhaul.judgement.text_changes import machine_files

_THERE = (ResourceAction.CHANGE, ResourceAction.REPLACE, ResourceAction.DESTROY, ResourceAction.FORGET)
"""Actions on machines that are running now."""


def release_of(role: Role) -> str:
    """Return the release that determines the version of a role's machines."""
    return "etcd" if role.is_etcd else "kubernetes"


def version_mismatches(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each wanted version that the control plane's image lacks. Machines with this image would wait
    for a version that they never run."""
    site = case.after.control_plane.site
    for release, baked in case.images.get(site, {}).items():
        wanted = getattr(case.after.versions, release, baked)
        if wanted != baked:
            yield PlanFinding(
                severity=Severity.PROBLEM,
                reason=PlanReason.IMAGE_LACKS_VERSION,
                what=f"The image of {site} contains {release} {baked}, but the environment wants {wanted}.",
                where=(f"versions.{release}", f"sites.{site}.image"),
                why="A replaced machine of the control plane would run the image's version and never be ready.",
                do=f"Bake an image with {wanted} (`longhaul image build --site {site}`) and write its id, or undo "
                "the change of version.",
            )


def refused_upgrades(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each release whose running versions cannot be upgraded to the wanted version in one step."""
    for release, running in _running(case):
        wanted = getattr(case.after.versions, release)
        refused = step_refused(release, running, wanted)
        if refused is not None:
            yield PlanFinding(
                severity=Severity.PROBLEM,
                reason=PlanReason.STEP_REFUSED,
                what=f"{TITLES[release]} would go from {_versions_text(running)} to {wanted}.",
                where=(f"versions.{release}",),
                why=refused.why,
                do=refused.do,
            )


def kubelet_skew(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each image whose kubelet version the API servers do not support."""
    for fault in image_faults(case.after, case.images):
        yield PlanFinding(
            severity=Severity.PROBLEM,
            reason=PlanReason.KUBELET_SKEW,
            what=f"{fault.key}: {fault.wrong}.",
            where=(fault.key, "versions.kubernetes"),
            why=f"A kubelet is never newer than an API server, and at most {SKEW} minor versions older (kubernetes.io, "
            '"Version Skew Policy").',
            do=fault.write,
        )


def removed_apis(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each API in use that the wanted version of Kubernetes lacks."""
    wanted = case.after.versions.kubernetes
    if not _goes_up(case):
        return
    for api in case.apis().used:
        if api.removed is not None and api.removed <= minor(wanted):
            yield PlanFinding(
                severity=Severity.PROBLEM,
                reason=PlanReason.API_REMOVED,
                what=f"{api.name} is in use, and Kubernetes {_short(api.removed)} removes it.",
                where=("versions.kubernetes",),
                why=f'API servers of {wanted} would refuse its clients (kubernetes.io, "Deprecated API '
                'Migration Guide").',
                do="Move its clients to a later version of the API; the audit log names them "
                '(`"k8s.io/deprecated":"true"`). A server forgets past requests when it restarts.',
            )


def deprecated_apis(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each API in use that a version later than the wanted one removes, and a finding when no
    server could be asked."""
    wanted = minor(case.after.versions.kubernetes)
    if not _goes_up(case):
        return
    apis, where = case.apis(), ("versions.kubernetes",)
    for api in apis.used:
        if api.removed is None or api.removed > wanted:
            gone = f"Kubernetes {_short(api.removed)} removes it" if api.removed else "a later version removes it"
            yield PlanFinding(
                severity=Severity.WARNING,
                reason=PlanReason.API_DEPRECATED,
                what=f"{api.name} is in use, and {gone}.",
                where=where,
                do="Before that, move its clients to a later version of the API.",
            )
    if apis.unseen:
        yield PlanFinding(
            severity=Severity.WARNING,
            reason=PlanReason.APIS_NOT_ASKED,
            what=f"It is unknown whether removed APIs are in use: {apis.unseen}.",
            where=where,
            do="Check yourself that nothing uses a removed API (docs/upgrading.md).",
        )


def _goes_up(case: Case) -> bool:
    """Return whether Kubernetes' minor version increases."""
    wanted = case.after.versions.kubernetes
    return any(
        minor(version) < minor(wanted)
        for release, running in _running(case)
        if release == "kubernetes"
        for version in running
    )


def _short(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def allowed_upgrades(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each allowed upgrade to another minor version, with its consequences."""
    for release, running in _running(case):
        wanted = getattr(case.after.versions, release)
        moves = any(minor(version) != minor(wanted) for version in running)
        if not moves or step_refused(release, running, wanted) is not None:
            continue
        back = is_taken_back(running, wanted) and max(map(minor, running)) > minor(wanted)
        where = (f"versions.{release}",)
        what = f"{TITLES[release]} goes {'back ' if back else ''}from {_versions_text(running)} to {wanted}."
        if back:
            why = "Some machines still run the wanted minor version, so their shared data has not moved."
            yield PlanFinding(
                severity=Severity.WARNING,
                reason=PlanReason.UPGRADE_TAKEN_BACK,
                what=what,
                where=where,
                why=why,
                do="Run `longhaul up` to its end.",
            )
        elif release == "etcd":
            why = "Once every member runs it, only a backup leads back."
            do = "Make a backup first (`longhaul backups --now`), and change nothing else in the same run."
            yield PlanFinding(
                severity=Severity.WARNING,
                reason=PlanReason.ETCD_UPGRADED,
                what=what,
                where=where,
                why=why,
                do=do,
            )
        else:
            yield _of_nodes(case, what, wanted)


def _of_nodes(case: Case, what: str, wanted: str) -> PlanFinding:
    """Return the finding about a new minor version of Kubernetes: nodes keep their kubelets."""
    major, number = minor(wanted)
    kept = [*case.after.pools, *(["the hosts"] if case.after.hosts else [])]
    nodes = f" Nodes of {', '.join(kept)} keep their kubelets; {major}.{number - SKEW} is the oldest." if kept else ""
    return PlanFinding(
        severity=Severity.WARNING,
        reason=PlanReason.KUBERNETES_UPGRADED,
        what=what,
        where=("versions.kubernetes",),
        why=f"Once every API server runs it there is no way back.{nodes}{_etcd_of(case, wanted)}",
        do="Check that nothing uses a removed API (docs/upgrading.md), and roll the nodes afterwards "
        "(`longhaul roll`).",
    )


def _etcd_of(case: Case, kubernetes: str) -> str:
    """Return a sentence when Kubernetes' recommended etcd has a later minor version than the environment's etcd;
    otherwise empty."""
    named, wanted = companion_versions(kubernetes).get("etcd"), case.after.versions.etcd
    if named is None or minor(wanted) >= minor(named):
        return ""
    return f" Kubernetes {kubernetes} names etcd {named}; it works with {wanted} too, and etcd is upgraded first."


def _running(case: Case) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the releases, each with its running versions, as far as these are known. With a state, each machine shows
    its version; without a state, the earlier file shows it."""
    if case.stateless:
        base = case.base
        return (
            () if base is None else tuple((release, frozenset({getattr(base.versions, release)})) for release in TITLES)
        )
    # Each etcd cluster has its own version; equal versions of both are reported once.
    pairs = dict.fromkeys((release_of(role), _of_role(case, role)) for role in Role)
    return tuple((release, versions) for release, versions in pairs if versions)


def _of_role(case: Case, role: Role) -> frozenset[str]:
    """Return the versions of a role's machines. Unchanged machines have the wanted version."""
    changes, before = role_changes(case.after, case.changes, role)
    there = [change for change in changes if change.action in _THERE]
    versions = {version for change in there if (version := version_of(machine_files(change.before).get(str(PATH), "")))}
    stay = {getattr(case.after.versions, release_of(role))} if before > len(there) else set()
    return frozenset(versions | stay)


def _versions_text(running: frozenset[str]) -> str:
    return " and ".join(sorted(running))
