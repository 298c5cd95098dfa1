"""Errors in the formats of AWS's two query protocols."""

from __future__ import annotations

import uuid
from xml.sax.saxutils import escape

from aiohttp import web


class AwsRefusalError(Exception):
    """A refused request; ``code`` and ``status`` are those of the service's API reference."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


def render(error: AwsRefusalError, *, service: str) -> web.Response:
    """Return the response that an SDK reads as ``error``."""
    request = str(uuid.uuid4())
    inner = f"<Code>{escape(error.code)}</Code><Message>{escape(error.message)}</Message>"
    if service == "ec2":
        body = f"<Response><Errors><Error>{inner}</Error></Errors><RequestID>{request}</RequestID></Response>"
    else:
        kind = "Sender" if error.status < 500 else "Receiver"
        body = (
            f"<ErrorResponse><Error><Type>{kind}</Type>{inner}</Error><RequestId>{request}</RequestId></ErrorResponse>"
        )
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'
    return web.Response(status=error.status, text=text, content_type="text/xml")
