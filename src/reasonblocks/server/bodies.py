"""Bodies: read under a cap and within a time, and decoded strictly."""

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import msgspec
from litestar.dto import AbstractDTO
from litestar.dto.data_structures import DTOFieldDefinition
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import Reference, Schema
from litestar.types import Receive
from litestar.typing import FieldDefinition

from ..engine.mending import without_lone_surrogates
from ..engine.requests import EventsRequest
from .problems import Misfit, Refusal, field_problems

READ_SECONDS = 30.0
"""How long a client may take to send a body."""
DRAIN_BYTES = 32_000_000
DRAIN_SECONDS = 5.0


Decoded = Callable[[bytes], Any]
"""From a body to what a handler takes as `data`."""


async def read(
    receive: Receive, announced: int | None, cap: int, *, waits: bool = False, arrived: bytes | None = None
) -> bytes:
    """The whole body, or a refusal: no more than `cap` bytes of it are ever held.

    One that has `arrived` is not waited for: a clock that is set for nothing costs as much as a small lookup.
    """
    if arrived is not None:
        if len(arrived) > cap:
            raise _too_large(cap, ended=True)
        return arrived
    if announced is not None and announced > cap:
        raise _too_large(cap, ended=not waits and await drained(receive))
    try:
        async with asyncio.timeout(READ_SECONDS):
            message: Any = await receive()
            body: bytes = message.get("body", b"")
            if not message.get("more_body") and message["type"] == "http.request" and len(body) <= cap:
                return body
            return await _gather(receive, message, cap)
    except TimeoutError:
        raise Refusal(
            408, f"the body did not arrive within {READ_SECONDS:g} seconds", {"connection": "close"}
        ) from None


async def _gather(receive: Receive, message: Any, cap: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the client left before its body was complete")
        size += len(message.get("body", b""))
        if size > cap:
            raise _too_large(cap, ended=not message.get("more_body") or await drained(receive))
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)
        message = await receive()


def _too_large(cap: int, *, ended: bool) -> Refusal:
    """The refusal of a body over the cap; the connection is only kept if the body came to an end."""
    headers = {} if ended else {"connection": "close"}
    return Refusal(413, f"the body has more than {cap} bytes, which is all that is taken at once", headers)


async def drained(receive: Receive) -> bool:
    """Let the rest of a body pass, and say whether it ended.

    A client that is still sending when the connection is closed sees a reset instead of the answer; one that never
    stops is cut off all the same.
    """
    size = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while size <= DRAIN_BYTES:
                message: Any = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    return bool(message["type"] == "http.request")
    except TimeoutError:
        pass
    return False


class StrictBody(AbstractDTO[Any]):
    """How Litestar gets a handler's `data`: straight from the bytes into the struct, nothing is coerced."""

    _decoders: ClassVar[dict[Any, Decoded]] = {}

    @classmethod
    def create_for_field_definition(
        cls, field_definition: FieldDefinition, handler_id: str, backend_cls: Any = None
    ) -> None:
        """Nothing is generated for a handler; its decoder is made when it is first needed."""

    @classmethod
    def is_supported_model_type_field(cls, field_definition: FieldDefinition) -> bool:
        """Whatever a handler takes as `data` is a struct of ours."""
        return True

    @classmethod
    def create_openapi_schema(cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any) -> Any:
        """The schema of the struct itself."""
        schema: Reference | Schema = schema_creator.for_field_definition(field_definition)
        return schema

    @classmethod
    def generate_field_definitions(cls, model_type: type[Any]) -> Generator[DTOFieldDefinition, None, None]:
        """No fields are renamed or left out."""
        yield from ()

    @classmethod
    def detect_nested_field(cls, field_definition: FieldDefinition) -> bool:
        """No field is taken apart."""
        return False

    @classmethod
    def decoder(cls, handler: BaseRouteHandler) -> Decoded:
        """What makes the handler's struct of a body."""
        decoder = cls._decoders.get(handler.fn)
        if decoder is None:
            assert handler.parsed_data_field is not None
            decoder = partial(decode, msgspec.json.Decoder(handler.parsed_data_field.annotation))
            cls._decoders[handler.fn] = decoder
        return decoder

    def decode_bytes(self, value: bytes) -> Any:
        """The body as the handler's struct."""
        return self.decoder(self.asgi_connection.route_handler)(value)


class EventsBody(StrictBody):
    """The body of a batch, which the engine decodes as a whole: the handler's `data` are the bytes."""

    @classmethod
    def create_openapi_schema(cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any) -> Any:
        """The schema of what the bytes hold."""
        return super().create_openapi_schema(FieldDefinition.from_annotation(EventsRequest), handler_id, schema_creator)

    @classmethod
    def decoder(cls, handler: BaseRouteHandler) -> Decoded:
        """The body as it came."""
        return bytes


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """The body as what the decoder makes of it; a `Refusal` for what is no JSON, a `Misfit` for what does not fit."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        with refused():
            return _decode_mended(decoder, body, error)


def _decode_mended(decoder: msgspec.json.Decoder[Any], body: bytes, error: Exception) -> Any:
    """The body without what may have been in the decoder's way; the decoder's own error if that was something else."""
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        mended = without_lone_surrogates(body)
        if mended != body:
            return decoder.decode(mended)
    raise error


@contextmanager
def refused() -> Iterator[None]:
    """What a decoder says against a body, as the refusal of the request."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise Misfit(field_problems(error)) from None
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is not UTF-8: {error.reason} at byte {error.start} of a text") from None
    except msgspec.DecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Refusal(400, "the body is nested too deeply") from None
