"""``pulumi-resource-azure-native`` in the lab: the same protocol, types and planning as the real plugin, over the
same API.

It calls ``management.azure.com`` with Azure's own credential library; in the lab that name is the lab's.
"""

from __future__ import annotations

import sys

from lab.providers.protocol import light_stubs, serve


def main() -> None:
    """Entry point of the plugin."""
    light_stubs()
    from lab.providers.azure_provider import AzureProvider

    serve(AzureProvider(engine=sys.argv[1] if len(sys.argv) > 1 else None))


if __name__ == "__main__":
    main()
