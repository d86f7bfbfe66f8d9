"""From Lark's parse tree of one statement to its node in `ast`, with its place in the text.

Not here: the expressions inside (`build_expressions`), comments (`trivia`), the meaning of names (`semantics`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from ..foundation import Span
from . import ast
from .build_expressions import ExpressionBuilder

INLINE = ast.Layout()


@dataclass(frozen=True)
class Edition:
    """`dcrf 1`: the only statement that is not a node of the tree."""

    number: int
    span: Span


@dataclass(frozen=True)
class _Where:
    condition: ast.Condition
    span: Span


@dataclass(frozen=True)
class _With:
    settings: tuple[ast.Setting, ...] = ()
    span: Span | None = None


@dataclass(frozen=True)
class _Body:
    """The part of a statement after its `:`; `where` and `with_` only in the block of a clique."""

    items: tuple[Any, ...] = ()
    layout: ast.Layout = INLINE
    where: _Where | None = None
    with_: _With | None = None


@v_args(meta=True, inline=True)
class StatementBuilder(ExpressionBuilder):
    """One method per rule of the grammar, for statements and their clauses."""

    def start(self, meta: Meta, statement: ast.Statement | Edition) -> ast.Statement | Edition:
        return statement

    def edition(self, meta: Meta, number: Token) -> Edition:
        return Edition(self._int(number), self._span(meta))

    def _place(self, meta: Meta) -> dict[str, Any]:
        span = self._span(meta)
        word = re.match(r"\w*", span.text)
        return {"span": span, "keyword": Span(self.source, span.start, span.start + (word.end() if word else 0))}

    # observed and labelled variables --------------------------------------------------------------------------

    def data(self, meta: Meta, call: ast.Call) -> ast.Data:
        return ast.Data(call=call, **self._place(meta))

    def label(
        self, meta: Meta, name: Token, domain: ast.Domain | None, per: Token | None, with_: _With | None
    ) -> ast.Label:
        settings, owner = (with_ or _With()).settings, self._name_if_given(per)
        return ast.Label(name=self._name(name), domain=domain, per=owner, settings=settings, **self._place(meta))

    def latent(self, meta: Meta, name: Token, domain: ast.Domain, with_: _With | None) -> ast.Latent:
        settings = (with_ or _With()).settings
        return ast.Latent(name=self._name(name), domain=domain, settings=settings, **self._place(meta))

    def memory(
        self,
        meta: Meta,
        name: Token,
        domain: ast.Domain | None,
        value: ast.ValueIf,
        initially: ast.State | None,
    ) -> ast.Memory:
        return ast.Memory(name=self._name(name), domain=domain, value=value, initially=initially, **self._place(meta))

    def view(self, meta: Meta, name: Token, value: ast.ValueIf) -> ast.View:
        return ast.View(name=self._name(name), value=value, **self._place(meta))

    def lexicon(self, meta: Meta, name: Token, path: Token, with_: _With | None) -> ast.Lexicon:
        settings = (with_ or _With()).settings
        return ast.Lexicon(name=self._name(name), path=self._text(path), settings=settings, **self._place(meta))

    def let(self, meta: Meta, name: Token, value: ast.Value, tune: ast.Call | None) -> ast.Let:
        return ast.Let(name=self._name(name), value=value, tune=tune, **self._place(meta))

    def use(self, meta: Meta, path: Token) -> ast.Use:
        return ast.Use(path=self._text(path), **self._place(meta))

    # features, cliques, constraints ---------------------------------------------------------------------------

    def features(self, meta: Meta, name: Token, with_: _With | None, body: _Body) -> ast.FeatureGroup:
        return ast.FeatureGroup(
            name=self._name(name),
            features=body.items,
            settings=(with_ or _With()).settings,
            layout=body.layout,
            **self._place(meta),
        )

    def clique(
        self,
        meta: Meta,
        sites: tuple[ast.Site, ...],
        where: _Where | None,
        name: Token | None,
        with_: _With | None,
        body: _Body | None,
    ) -> ast.Clique:
        body = body or _Body()
        if where is not None and body.where is not None:
            self._twice("where", body.where.span)
        if with_ is not None and body.with_ is not None:
            self._twice("with", body.with_.span or self._span(meta))
        where, with_ = where or body.where, with_ or body.with_
        return ast.Clique(
            sites=sites,
            where=None if where is None else where.condition,
            name=self._name_if_given(name),
            settings=(with_ or _With()).settings,
            features=body.items,
            layout=body.layout,
            where_in_block=body.where is not None,
            settings_in_block=body.with_ is not None,
            **self._place(meta),
        )

    def _twice(self, clause: str, span: Span) -> None:
        message = f"`{clause}` is given twice: before the `:` and in the block"
        self._fail("clause-twice", message, span, "the second one", help="keep one of them")

    def clique_block(self, meta: Meta, *lines: _Where | _With | _Body) -> _Body:
        where = next((line for line in lines if isinstance(line, _Where)), None)
        with_ = next((line for line in lines if isinstance(line, _With)), None)
        return replace(_block([line for line in lines if isinstance(line, _Body)]), where=where, with_=with_)

    def segment(
        self, meta: Meta, variable: Token, limit: ast.Value, name: Token | None, with_: _With | None, body: _Body
    ) -> ast.Segment:
        return ast.Segment(
            variable=self._name(variable),
            limit=limit,
            name=self._name_if_given(name),
            settings=(with_ or _With()).settings,
            features=body.items,
            layout=body.layout,
            **self._place(meta),
        )

    def piece(self, meta: Meta, name: Token, over: tuple[ast.Site, ...], body: _Body) -> ast.Piece:
        return ast.Piece(name=self._name(name), over=over, members=body.items, layout=body.layout, **self._place(meta))

    def forbid(
        self, meta: Meta, condition: ast.Condition, when: ast.Condition | None, name: Token | None
    ) -> ast.Forbid:
        return ast.Forbid(condition=condition, when=when, name=self._name_if_given(name), **self._place(meta))

    def require(
        self, meta: Meta, condition: ast.Condition, when: ast.Condition | None, name: Token | None
    ) -> ast.Require:
        return ast.Require(condition=condition, when=when, name=self._name_if_given(name), **self._place(meta))

    def once(self, meta: Meta, label: Token, free: tuple[ast.State, ...] | None, name: Token | None) -> ast.Once:
        return ast.Once(label=self._name(label), free=free or (), name=self._name_if_given(name), **self._place(meta))

    def except_(self, meta: Meta, states: tuple[ast.State, ...]) -> tuple[ast.State, ...]:
        return states

    # inference and training -----------------------------------------------------------------------------------

    def infer(self, meta: Meta, call: ast.Call, body: _Body = _Body()) -> ast.Infer:
        return ast.Infer(call=call, settings=body.items, layout=body.layout, **self._place(meta))

    def decode(self, meta: Meta, call: ast.Call, body: _Body = _Body()) -> ast.Decode:
        return ast.Decode(call=call, settings=body.items, layout=body.layout, **self._place(meta))

    def train(
        self, meta: Meta, call: ast.Call, name: Token | None, after: Token | None, body: _Body = _Body()
    ) -> ast.Train:
        return ast.Train(
            call=call,
            name=self._name_if_given(name),
            after=self._name_if_given(after),
            settings=body.items,
            layout=body.layout,
            **self._place(meta),
        )

    def evaluate(self, meta: Meta, body: _Body) -> ast.Evaluate:
        return ast.Evaluate(metrics=body.items, layout=body.layout, **self._place(meta))

    # clauses --------------------------------------------------------------------------------------------------

    def sites(self, meta: Meta, *sites: ast.Site) -> tuple[ast.Site, ...]:
        return sites

    def site(self, meta: Meta, variable: Token, place: ast.Place | None) -> ast.Site:
        return ast.Site(variable=self._name(variable), place=place, span=self._span(meta))

    def where(self, meta: Meta, condition: ast.Condition) -> _Where:
        return _Where(condition, self._span(meta))

    def with_(self, meta: Meta, *settings: ast.Setting) -> _With:
        return _With(settings, self._span(meta))

    def member(self, meta: Meta, locked: Token | None, clique: Token, place: ast.Place | None) -> ast.Member:
        return ast.Member(clique=self._name(clique), place=place, locked=locked is not None, span=self._span(meta))

    def row(self, meta: Meta, *items: Any) -> _Body:
        return _Body(items)

    def block(self, meta: Meta, *rows: _Body) -> _Body:
        return _block(rows)


def _block(rows: Sequence[_Body]) -> _Body:
    items = tuple(item for row in rows for item in row.items)
    return _Body(items, ast.Layout(block=True, rows=tuple(len(row.items) for row in rows)))
