"""A spaCy pipeline with a model of ours, over HTTP: `POST /annotate` answers with entities and their probabilities.

    request -> texts, checks -> a thread -> `nlp.pipe`, many texts at once -> entities as JSON

Not here: limits of load, queues, an end without losses: `examples/service` has these.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MOST_TEXTS, MOST_CHARACTERS = 1_000, 100_000  # of a request


def make_pipeline(model: str | Path) -> Language:
    """Sentences by their full stops, entities by the model."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("dcrfdsl", config={"model": str(model)})
    nlp("warm up")  # the first call loads the kernels
    return nlp


def entities(doc: Doc) -> list[dict[str, Any]]:
    """The entities of a document: label, characters and probability of each.

    accepted: whether an entity can be taken unseen; null where its type has no operating point.
    """
    return [
        {
            "label": e.label_, "text": e.text, "start": e.start_char, "end": e.end_char,
            "confidence": e._.confidence, "accepted": e._.accepted,
        }
        for e in doc.ents
    ]  # fmt: skip


def make_app(nlp: Language) -> Starlette:
    """The service of a pipeline."""

    def annotated(texts: list[str]) -> list[list[dict[str, Any]]]:
        return [entities(doc) for doc in nlp.pipe(texts)]

    async def annotate(request: Request) -> Response:
        texts = texts_of(await request.body())
        return JSONResponse({"entities": await asyncio.to_thread(annotated, texts)})

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code)

    return Starlette(
        routes=[Route("/annotate", annotate, methods=["POST"])], exception_handlers={HTTPException: refused}
    )


def texts_of(body: bytes) -> list[str]:
    """The texts that a request asks about. HTTPException for anything else."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    texts = content.get("texts") if isinstance(content, dict) else None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise HTTPException(400, 'expected {"texts": ["…", …]}')
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        raise HTTPException(400, "a text has half of a surrogate pair, which is no character")
    if len(texts) > MOST_TEXTS or sum(map(len, texts)) > MOST_CHARACTERS:
        raise HTTPException(413, f"a request holds at most {MOST_TEXTS:,} texts, and {MOST_CHARACTERS:,} characters")
    return texts
