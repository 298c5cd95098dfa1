"""Pods with a web page, as a training run's TensorBoard is one: reached by the pod's own address, without a Service."""

from __future__ import annotations

from typing import Any

from components.model.versions.section import pinned
from tests.support.workload import IMAGE

PORT = 6006
"""TensorBoard's."""
_SERVE = """
cat > /page/index.html <<END
<!doctype html><html><head><title>$SITE</title></head><body style="font: 20px sans-serif; margin: 2em">
<h1>Training in $SITE</h1><p>Pod <b>$HOSTNAME</b> on node <b>$NODE</b></p><p id="loss"></p>
<svg width="600" height="200"><polyline fill="none" stroke="teal" stroke-width="3"/></svg><script>
const losses = [...Array(60).keys()].map(step => Math.exp(-step / 15) + 0.05 * Math.sin(step))
const points = losses.map((loss, step) => step * 10 + "," + (190 - loss * 170))
document.querySelector("polyline").setAttribute("points", points.join(" "))
document.querySelector("#loss").textContent = "loss after 60 steps: " + losses.at(-1).toFixed(3)
</script></body></html>
END
exec busybox httpd -f -p $PORT -h /page
"""
"""Script that writes the page with what the pod knows of itself, and serves it."""


def page_pod(site: str) -> dict[str, Any]:
    """Return a pod, named after the site, that serves its page on a node of the site; Pod Security's ``restricted``
    admits it."""
    env: list[dict[str, Any]] = [{"name": "SITE", "value": site}, {"name": "PORT", "value": str(PORT)}]
    env.append({"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})
    container = {
        "name": "board",
        "image": f"{IMAGE}:{pinned('agnhost')}",
        "command": ["bash", "-c", _SERVE],
        "env": env,
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "page", "mountPath": "/page"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"board-{site}"},
        "spec": {
            "nodeSelector": {"longhaul.dev/site": site},
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65534,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "page", "emptyDir": {}}],
            "terminationGracePeriodSeconds": 1,
        },
    }
