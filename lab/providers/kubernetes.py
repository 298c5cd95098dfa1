"""``pulumi-resource-kubernetes`` in the lab: any kind, by server-side apply to whichever API server the kubeconfig
leads to."""

from __future__ import annotations

import sys

from lab.providers.protocol import light_stubs, serve


def main() -> None:
    """Entry point of the plugin."""
    light_stubs()
    from lab.providers.kubernetes_provider import KubernetesProvider

    serve(KubernetesProvider(engine=sys.argv[1] if len(sys.argv) > 1 else None))


if __name__ == "__main__":
    main()
