"""``pulumi-resource-aws`` in the lab: previews everything, makes nothing yet."""

from __future__ import annotations

import sys
from typing import Any

from lab.providers.protocol import light_stubs, serve


def provider(engine: str | None) -> Any:
    """The gRPC servicer."""
    import grpc
    from pulumi.runtime.proto import provider_pb2

    from lab.providers.base import BaseProvider, type_of

    class Aws(BaseProvider):
        def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
            if request.preview:
                return provider_pb2.CreateResponse(properties=self.previewed(request.properties))
            return self._refuse(context, f"cannot create {type_of(request.urn)}")

        def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
            if request.preview:
                return provider_pb2.UpdateResponse(properties=self.previewed(request.news))
            return self._refuse(context, f"cannot update {type_of(request.urn)}")

        def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
            return self._refuse(context, f"cannot read {type_of(request.urn)}")

        def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
            return self._refuse(context, f"cannot delete {type_of(request.urn)}")

        def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
            return self._refuse(context, f"cannot answer the function {request.tok}")

        def _refuse(self, context: Any, what: str) -> Any:
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"the lab has no AWS yet: it {what}. Only previews work; run this against the real cloud, or leave "
                "the site out.",
            )

    return Aws(package="aws", distribution="pulumi-aws", engine=engine)


def main() -> None:
    """Entry point of the plugin."""
    light_stubs()
    serve(provider(sys.argv[1] if len(sys.argv) > 1 else None))


if __name__ == "__main__":
    main()
