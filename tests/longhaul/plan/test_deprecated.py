"""Deprecated APIs in use are read from what API servers count."""

from __future__ import annotations

from longhaul.judgement.deprecated_apis import DeprecatedApi, used_apis

METRICS = """\
# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="a.io",removed_release="1.38",resource="b",subresource="scale",version="v2"} 1
apiserver_requested_deprecated_apis{group="a.io",removed_release="1.38",resource="c",subresource="",version="v2"} 0
apiserver_request_total{group="a.io",resource="d",version="v2"} 7
"""


def test_what_was_asked_for_is_named_with_the_version_that_takes_it_away() -> None:
    assert list(used_apis(METRICS.splitlines())) == [
        DeprecatedApi(name="endpoints/v1", removed=None),
        DeprecatedApi(name="b/scale.a.io/v2", removed=(1, 38)),
    ]
