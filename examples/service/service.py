"""A model as a service over HTTP: `POST /tag`, `GET /health`, errors as JSON.

    request -> limits, checks -> queue -> batch of what waits -> one call of the model -> answers

Requests that come while the model works wait and are tagged together, because a call has a fixed cost. Not here: the
model, HTTP itself (Starlette, uvicorn), load tests (`load`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcrfdsl import DcrfError, TrainedModel, load


@dataclass(frozen=True)
class Limits:
    """What a service takes on.

    body_bytes, sentences, sentence_tokens: of a request.   waiting: requests at once; more are asked to come again.
    batch_tokens: about as many are tagged by one call of the model, which uses so many threads.
    """

    body_bytes: int = 1_000_000
    sentences: int = 1_000
    sentence_tokens: int = 1_000
    waiting: int = 256
    batch_tokens: int = 5_000
    threads: int = 1


class Refusal(Exception):
    """A request that is not answered: HTTP status, a word for programs, and a message for people."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Asked(NamedTuple):
    """A request that waits.   size: its tokens."""

    sentences: Sequence[Sequence[Any]]
    size: int
    answer: asyncio.Future[list[Any]]


@dataclass(eq=False)
class Batches:
    """Tags what waits, batch after batch, in a thread of its own, so that the service can go on listening."""

    model: TrainedModel
    limits: Limits
    waiting: asyncio.Queue[Asked | None] = field(default_factory=asyncio.Queue)
    under_way: int = 0
    is_closed: bool = False

    async def tag(self, sentences: Sequence[Sequence[Any]]) -> list[Any]:
        """The labels of the sentences. Raises what the model raises; `Refusal` where too many wait."""
        if self.is_closed:
            raise Refusal(503, "ending", "the service is ending")
        if self.under_way >= self.limits.waiting:
            raise Refusal(503, "busy", f"{self.under_way} requests wait already: come again in a second")
        self.under_way += 1
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.waiting.put_nowait(Asked(sentences, sum(map(len, sentences)), answer))
        try:
            return await answer
        finally:
            self.under_way -= 1

    async def run(self) -> None:
        """Answers until `close`, and what waits by then."""
        while (asked := await self.waiting.get()) is not None:
            batch, size = [asked], asked.size
            while not self.waiting.empty() and size < self.limits.batch_tokens:
                more = self.waiting.get_nowait()
                if more is None:
                    self.waiting.put_nowait(None)
                    break
                batch.append(more)
                size += more.size
            try:
                await self._answer([asked for asked in batch if not asked.answer.done()])  # done: its client has left
            except Exception as error:  # nobody waits for ever
                for asked in batch:
                    if not asked.answer.done():
                        asked.answer.set_exception(error)

    def close(self) -> None:
        self.is_closed = True
        self.waiting.put_nowait(None)

    async def _answer(self, batch: Sequence[Asked]) -> None:
        together = [sentence for asked in batch for sentence in asked.sentences]
        try:
            labels = await asyncio.to_thread(self.model.tag_all, together, threads=self.limits.threads)
        except (DcrfError, TypeError, ValueError) as error:
            if len(batch) > 1:  # a request must not fail for what another one asks
                for asked in batch:
                    await self._answer([asked])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(_unusable(error))
            return
        at = 0
        for asked in batch:
            count = len(asked.sentences)
            if not asked.answer.done():
                asked.answer.set_result(labels[at : at + count])
            at += count


def _unusable(error: Exception) -> Refusal:
    if isinstance(error, DcrfError):
        return Refusal(422, error.diagnostics[0].slug, error.diagnostics[0].message)
    return Refusal(422, "bad-sentence", str(error))


# HTTP -------------------------------------------------------------------------------------------------------------


def make_app(path: str | Path, limits: Limits | None = None) -> Starlette:
    """The service of a model file. The model is loaded, and warmed up, once, before the first request is taken."""
    bounds = Limits() if limits is None else limits

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        model = load(path)
        model.tag_all([["warm", "up"]] if _takes_words(model) else [])  # the first call loads the kernels
        app.state.batches = batches = Batches(model, bounds)
        running = asyncio.create_task(batches.run())
        yield
        batches.close()
        await running

    async def tag(request: Request) -> Response:
        sentences = _sentences(await _body(request, bounds), bounds)
        return JSONResponse({"labels": await request.app.state.batches.tag(sentences)})

    async def health(request: Request) -> Response:
        batches: Batches = request.app.state.batches
        model = batches.model
        return JSONResponse(
            {
                "status": "ending" if batches.is_closed else "ok",
                "labels": {label: list(model.states[label]) for label in model.labels},
                "weights": model.num_weights,
                "waiting": batches.under_way,
            }
        )

    routes = [Route("/tag", tag, methods=["POST"]), Route("/health", health)]
    handlers: Mapping[Any, Any] = {Refusal: _refused, HTTPException: _http_error, Exception: _failed}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


def _takes_words(model: TrainedModel) -> bool:
    """Whether a token is a text: whether there is one column beside the labels."""
    data = model.spec.data
    return data is not None and len([column for column in data.columns if column.name not in model.labels]) == 1


async def _body(request: Request, limits: Limits) -> bytes:
    """The body, which is not read where it says that it is too long, and not read on once it is."""
    too_large = Refusal(413, "too-large", f"a request holds at most {limits.body_bytes:,} bytes")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:18]) > limits.body_bytes:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limits.body_bytes:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def _sentences(body: bytes, limits: Limits) -> Sequence[Sequence[Any]]:
    """The sentences that a request asks about, within the limits. What tokens must look like, the model knows."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "not-json", f"the body is not JSON: {error}") from None
    found = content.get("sentences") if isinstance(content, dict) else None
    if not isinstance(found, list) or not all(isinstance(sentence, list) for sentence in found):
        raise Refusal(400, "bad-request", 'expected {"sentences": [[token, …], …]}')
    if len(found) > limits.sentences:
        raise Refusal(413, "too-large", f"a request holds at most {limits.sentences:,} sentences: found {len(found):,}")
    longest = max(map(len, found), default=0)
    if longest > limits.sentence_tokens:
        most = f"a sentence holds at most {limits.sentence_tokens:,} tokens"
        raise Refusal(413, "too-large", f"{most}: found {longest:,}")
    return found


def _error(status: int, code: str, message: str, **headers: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


async def _refused(request: Request, refusal: Refusal) -> Response:
    later = {"Retry-After": "1"} if refusal.status == 503 else {}
    unread = {"Connection": "close"} if refusal.status == 413 else {}  # the rest of the body is not waited for
    return _error(refusal.status, refusal.code, refusal.message, **later, **unread)


async def _http_error(request: Request, error: HTTPException) -> Response:
    code = {404: "no-such-path", 405: "no-such-method"}.get(error.status_code, "http-error")
    return _error(error.status_code, code, error.detail, **(error.headers or {}))


async def _failed(request: Request, error: Exception) -> Response:
    """An error of ours. uvicorn writes its traceback to the log; the client gets none of it."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    return _error(500, "internal-error", "the service failed; its log says more")
