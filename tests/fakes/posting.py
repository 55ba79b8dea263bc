"""JSON sent as clients of a server send it."""

import orjson

from agenteval.net.session import JSON_HEADERS, Response, Session


async def posted(session: Session, url: str, payload: object, *, timeout_s: float) -> Response:
    return await session.request("POST", url, body=orjson.dumps(payload), headers=JSON_HEADERS, timeout_s=timeout_s)
