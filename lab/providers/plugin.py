"""Stand-in for ``pulumi-resource-<name>``: the real plugin's protocol, types and planning, over the same API.

``aws`` and ``azure-native`` call the clouds' host names with the clouds' libraries; in the lab these names lead to the
lab's clouds. ``kubernetes`` handles any kind, by server-side apply to the API server that the kubeconfig leads to.
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
"""Module and class by the plugin's name; imported after :func:`lab.providers.protocol.light_stubs`."""


def main() -> None:
    """Run the plugin. Its arguments are its name and, when an engine starts it, the engine's address."""
    name, *engine = sys.argv[1:]
    light_stubs()
    module, provider = PROVIDERS[name]
    serve(getattr(importlib.import_module(module), provider)(engine=engine[0] if engine else None))


if __name__ == "__main__":
    main()
