"""Count requests, and tell the counts in Prometheus text format, to holders of the operator's token."""

from __future__ import annotations

import hmac
import threading
from collections import Counter

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from nagori.edges.http.access import Refused, bearer

BUCKET = "nagori_http_request_seconds_bucket"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


class RequestMetrics:
    """Requests by route and status, and how long they took. No names of users are in it."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._slow: Counter[float] = Counter()
        self._seconds = 0.0
        self._lock = threading.Lock()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE") else "other"
        with self._lock:
            self._requests[known, route, status] += 1
            self._seconds += seconds
            for bound in BUCKETS:
                if seconds <= bound:
                    self._slow[bound] += 1

    async def answer(self, request: Request) -> Response:
        """The route `/metrics`."""
        if self._token is None or not hmac.compare_digest(bearer(request).encode(), self._token.encode()):
            raise Refused(401, "error.http_token")
        return PlainTextResponse(self.text(), media_type="text/plain; version=0.0.4")

    def text(self) -> str:
        with self._lock:
            requests, slow, seconds = dict(self._requests), dict(self._slow), self._seconds
        lines = [
            "# HELP nagori_http_requests_total Requests by method, route and status.",
            "# TYPE nagori_http_requests_total counter",
            *(
                f'nagori_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {n}'
                for (method, route, status), n in sorted(requests.items())
            ),
            "# HELP nagori_http_request_seconds Time from request to answer.",
            "# TYPE nagori_http_request_seconds histogram",
            *(
                f'nagori_http_request_seconds_bucket{{le="{bound}"}} {slow.get(bound, 0)}'
                for bound in BUCKETS
            ),
            f'nagori_http_request_seconds_bucket{{le="+Inf"}} {sum(requests.values())}',
            f"nagori_http_request_seconds_sum {seconds:.6f}",
            f"nagori_http_request_seconds_count {sum(requests.values())}",
        ]
        return "\n".join(lines) + "\n"
