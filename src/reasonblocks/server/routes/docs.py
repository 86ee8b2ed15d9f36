"""The OpenAPI document and a page to try it, for which no key is needed; neither is in the document itself."""

import anyio.to_thread
from litestar import MediaType, Response, get

from ..document import document
from ..page import PAGE, PAGE_POLICY


@get("/openapi.json", include_in_schema=False)
async def openapi() -> Response[bytes]:
    """The document; made once, which takes a moment."""
    return Response(await anyio.to_thread.run_sync(document), media_type=MediaType.JSON)


@get("/docs", include_in_schema=False)
async def docs() -> Response[bytes]:
    """The page, which needs nothing from anywhere else."""
    return Response(PAGE, media_type=MediaType.HTML, headers={"content-security-policy": PAGE_POLICY})


HANDLERS = (openapi, docs)
