"""``pulumi-resource-<name>`` in the lab: the same protocol, types and planning as the real plugin, over the same API.

``aws`` and ``azure-native`` call the clouds' names with the clouds' libraries; in the lab those names are the lab's.
``kubernetes`` takes any kind, by server-side apply to whichever API server the kubeconfig leads to.
"""

from __future__ import annotations

import importlib
import sys

from lab.providers.protocol import light_stubs, serve

PROVIDERS = {
    "aws": ("lab.providers.aws_provider", "AwsProvider"),
    "azure-native": ("lab.providers.azure_provider", "AzureProvider"),
    "kubernetes": ("lab.providers.kubernetes_provider", "KubernetesProvider"),
}
"""Module and class by the plugin's name; imported once the SDK's stubs are light."""


def main() -> None:
    """Entry point: the plugin's name, and the engine's address where an engine starts it."""
    name, *engine = sys.argv[1:]
    light_stubs()
    module, provider = PROVIDERS[name]
    serve(getattr(importlib.import_module(module), provider)(engine=engine[0] if engine else None))


if __name__ == "__main__":
    main()
