"""``pulumi-resource-aws`` in the lab: the same protocol, types and planning as the real plugin, over the same API.

It calls ``ec2.<region>.amazonaws.com`` and its siblings with AWS's own SDK; in the lab those names are the lab's.
"""

from __future__ import annotations

import sys

from lab.providers.protocol import light_stubs, serve


def main() -> None:
    """Entry point of the plugin."""
    light_stubs()
    from lab.providers.aws_provider import AwsProvider

    serve(AwsProvider(engine=sys.argv[1] if len(sys.argv) > 1 else None))


if __name__ == "__main__":
    main()
