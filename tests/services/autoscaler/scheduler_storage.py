"""Volumes, claims and classes of random clusters; they are made once, since only their users vary."""

from __future__ import annotations

from contract.kubernetes.api import Api
from tests.services.autoscaler.pod_features import CLAIMS, HOST, SPACES, ZONE, ZONES, Json

DRIVER, MEASURED, EBS = "disks.example.com", "measured.example.com", "ebs.csi.aws.com"
"""Drivers of volumes; the second tells how much storage it has where."""
STORAGE = "/apis/storage.k8s.io/v1"
SYSTEM = "kube-system"


def make_storage(api: Api) -> None:
    """Make all classes, drivers, volumes and claims. Nothing binds volumes here, so they are made as bound."""
    for class_ in _classes():
        api.post(f"{STORAGE}/storageclasses", {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **class_})
    for name, measured in ((DRIVER, False), (MEASURED, True)):
        spec = {"storageCapacity": measured, "attachRequired": True}
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}
        api.post(f"{STORAGE}/csidrivers", body)
    for zone, size in ((ZONES[0], "10Gi"), (ZONES[1], "1Gi")):
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": f"capacity-{zone}"},
            "storageClassName": "measured",
            "nodeTopology": {"matchLabels": {ZONE: zone}},
            "capacity": size,
        }
        api.post(f"{STORAGE}/namespaces/{SYSTEM}/csistoragecapacities", body)
    for space in SPACES:
        for claim, volume in _pairs(space):
            if volume:
                phase = volume.pop("phase")
                api.post("/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", **volume})
                path = f"/api/v1/persistentvolumes/{volume['metadata']['name']}/status"
                api.patch(path, {"status": {"phase": phase}})
            if claim:
                phase = claim.pop("phase")
                path = f"/api/v1/namespaces/{space}/persistentvolumeclaims"
                api.post(path, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim})
                api.patch(f"{path}/{claim['metadata']['name']}/status", {"status": {"phase": phase}})


def _classes() -> list[Json]:
    def class_(name: str, provisioner: str, mode: str = "WaitForFirstConsumer", **more: object) -> Json:
        return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}

    topology = {"matchLabelExpressions": [{"key": ZONE, "values": [*ZONES[:2]]}]}
    return [
        class_("provisioned", DRIVER),
        class_("zones", DRIVER, allowedTopologies=[topology]),
        class_("measured", MEASURED),
        class_("static", "kubernetes.io/no-provisioner"),
        class_("immediate", DRIVER, "Immediate"),
        class_("former", "kubernetes.io/aws-ebs"),
    ]


def _affinity(key: str, *values: str) -> Json:
    expressions = [{"key": key, "operator": "In", "values": list(values)}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


def _pairs(space: str) -> list[tuple[Json | None, Json | None]]:
    """Return the claims of a namespace, each with its volume."""

    def volume(
        name: str, *, size: str = "5Gi", phase: str = "Bound", labels: Json | None = None, **spec: object
    ) -> Json:
        bound = {"claimRef": {"namespace": space, "name": name}} if phase == "Bound" else {}
        csi = {"driver": DRIVER, "volumeHandle": f"{space}-{name}"}
        rest = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "csi": csi}
        about = {"name": f"{space}-{name}", "labels": labels or {}}
        return {"metadata": about, "spec": {**rest, **bound, **spec}, "phase": phase}

    def claim(
        name: str, class_: str = "", *, phase: str = "Pending", size: str = "2Gi", mode: str = "ReadWriteOnce"
    ) -> Json:
        about: Json = {"name": name, "namespace": space}
        spec: Json = {"accessModes": [mode], "resources": {"requests": {"storage": size}}, "storageClassName": class_}
        if not class_:
            about["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            spec["volumeName"] = f"{space}-{name}"
        return {"metadata": about, "spec": spec, "phase": phase}

    def bound(name: str, mode: str = "ReadWriteOnce", **more: object) -> tuple[Json | None, Json | None]:
        spec = {"accessModes": [mode], **more}
        labels = spec.pop("labels", None)
        return claim(name, phase="Bound", mode=mode), volume(name, labels=labels, **spec)  # type: ignore[arg-type]

    former = volume("former", awsElasticBlockStore={"volumeID": f"aws://{ZONES[0]}/vol-{space}"})
    del former["spec"]["csi"]
    attributes = claim("attributes", "static", size="1Gi")
    attributes["spec"]["volumeAttributesClassName"] = "gold"
    local = {"phase": "Available", "storageClassName": "static"}
    pairs = [
        bound("zonal", **_affinity(ZONE, *ZONES[:2])),
        bound("labelled", labels={ZONE: "__".join(ZONES[1:])}),
        bound("hosted", **_affinity(HOST, "node-1", "node-2", "node-3")),
        bound("anywhere"),
        bound("single", "ReadWriteOncePod"),
        (claim("lost", phase="Lost"), None),
        (claim("provisioned", "provisioned"), None),
        (claim("zone-provisioned", "zones"), None),
        (claim("measured", "measured"), None),
        (claim("too-large", "measured", size="20Gi"), None),
        (claim("static", "static"), volume("disk", size="3Gi", **local, **_affinity(ZONE, ZONES[2]))),  # type: ignore[arg-type]
        (claim("too-small", "static", size="4Gi"), None),
        (claim("static-too", "static", size="1Gi"), None),
        (claim("static-again", "static", size="1Gi"), None),
        (attributes, None),
        (claim("immediate", "immediate"), None),
        (claim("former", phase="Bound"), former),
        (claim("former-provisioned", "former"), None),
    ]
    names = {item["metadata"]["name"] for item, _ in pairs if item}
    if names != {*CLAIMS[:-1]}:
        raise ValueError(f"claims are {sorted(names)}")
    return pairs
