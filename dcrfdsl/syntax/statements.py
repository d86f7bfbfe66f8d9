"""The statements of the language, a class each: its parts, its options with their meaning, and how it is read.

A statement is added here, with a line in `STATEMENTS` and one in `Declarations`. Not here: rules, whose parts are
conditions or bounds (`rule_statements`), data (`data_statement`), what all statements have (`statement_base`), the
nodes inside (`nodes`), the meaning of names (`semantics`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, Self, TypeAlias

from ..foundation import Span, did_you_mean
from . import nodes
from .data_statement import DataSpec
from .nodes import CallSpec, Condition, Domain, Feature, Node, Reference, Site
from .rule_statements import Constraint as Constraint, Expectation as Expectation, Once as Once, Runs as Runs
from .statement_base import (
    AS_NAME,
    NAME,
    OPTIONS,
    Layout,
    Part,
    Reading,
    Shapes,
    Statement,
    option_value,
    read_limits,
    scheme_call,
)
from .statement_options import choice, count, count_or_none, state, types, yes_no

LEARNED = nodes.Learned()


# variables --------------------------------------------------------------------------------------------------


class Label(Statement, kind="label"):
    """An output variable, read from the column with its name: one for each token, or one for a sentence."""

    shapes = {"label": (NAME, Part("domain", "in"), Part("per", "for", "word"), OPTIONS)}
    section, word = "labels", "label"
    with_options = {
        "label": {
            **dict.fromkeys(("others", "missing", "ambiguous", "soft", "source"), state),
            "covers": types,
            "constrain": yes_no,
        }
    }

    name: str
    domain: Domain = LEARNED
    others: str | None = None
    missing: str | None = None
    ambiguous: str | None = None
    soft: str | None = None
    source: str | None = None
    covers: tuple[str, ...] = ()
    constrain: bool = True
    per: Literal["token", "sentence"] = "token"
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        per = _owner(reading) if "per" in reading.parts else "token"
        options = cls.read_options(reading)
        return cls(name=reading.parts["name"], domain=reading.domain() or LEARNED, per=per, **options)

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        parts = super().plain_parts(every_option=every_option)
        parts |= {"domain": scheme_call(self.domain), "per": None if self.per == "token" else self.per}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def idle_options(self) -> tuple[str, ...]:
        return () if isinstance(self.domain, nodes.Scheme) else ("constrain",)

    @property
    def soft_column(self) -> str | None:
        """The column that `soft` names; None where it is a mark, or is not given."""
        return self.soft if self.soft is not None and nodes.is_plain_name(self.soft) else None


def _owner(reading: Reading) -> Literal["token", "sentence"]:
    """What has one state of a label: `for sentence`, or `for token`, which goes without saying."""
    word, place = reading.parts["per"], reading.places["per"]
    if word == "sentence":
        return "sentence"
    if word != "token" and isinstance(place, Span):
        guess = did_you_mean(word, ("sentence", "token"))
        remedy = f"did you mean `for {guess}`?" if guess else "write `for sentence`: one state for all its tokens"
        message = f"a label is for each token or for a sentence, and `{word}` is neither"
        reading.complain("bad-owner", message, place, "expected `sentence`", remedy)
    return "token"


class Latent(Statement, kind="latent"):
    """A variable that no data shows."""

    shapes = {"latent": (NAME, Part("domain", "in"), OPTIONS)}
    section, word = "latents", "latent variable"

    name: str
    domain: Domain
    doc: tuple[str, ...] = ()

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        domain = scheme_call(self.domain)
        if domain is None:
            raise ValueError(f"latent variable {self.name!r} needs its states")
        return {"name": self.name, "domain": domain}


class Memory(Statement, kind="memory"):
    """A variable that follows from earlier labels and from observations."""

    shapes = {"memory": (NAME, Part("domain", "in"), Part("value", "="), Part("initially", "initially", "state"))}
    section, word = "memories", "memory"

    name: str
    value: nodes.ValueIf
    domain: Domain | None = None
    initially: str | None = None
    doc: tuple[str, ...] = ()

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        parts = super().plain_parts() | {"domain": scheme_call(self.domain)}
        return {name: part for name, part in parts.items() if part is not None}


class View(Statement, kind="view"):
    """A coarser reading of a label.

    mapped: of a view with a function of the user's, each state and its text; a trained model does without the function.
    """

    shapes = {"view": (NAME, Part("value", "="))}
    section, word = "views", "view"

    name: str
    value: nodes.ValueIf
    doc: tuple[str, ...] = ()
    mapped: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)


# the rest of the declarations ---------------------------------------------------------------------------------


class Lexicon(Statement, kind="lexicon"):
    """A list or a map of words in a file. Its path is kept as written."""

    shapes = {"lexicon": (NAME, Part("path", "=", "text"), OPTIONS)}
    section, word = "lexicons", "lexicon"
    with_options = {"lexicon": {"case": choice("exact", "ignore")}}

    name: str
    path: str
    case: Literal["exact", "ignore"] = "exact"
    doc: tuple[str, ...] = ()


class Let(Statement, kind="let"):
    """A constant; `tune` is its search range."""

    shapes = {"let": (NAME, Part("value", "="), Part("tune", "tune"))}
    section, word = "lets", "constant"

    name: str
    value: nodes.Value
    tune: CallSpec | None = None
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        return cls(name=reading.parts["name"], value=reading.parts["value"], tune=reading.call("tune"))


class FeatureGroup(Statement, kind="features"):
    """A named list of features."""

    shapes = {"features": (NAME, OPTIONS, Part("features", form="list"))}
    section, word, most_inline = "groups", "feature group", 0
    with_options = {"features": {"min_count": count, "outside": choice("boundary", "skip")}}

    name: str
    features: tuple[Feature, ...]
    min_count: int | Reference = 1
    outside: Literal["boundary", "skip"] = "boundary"
    doc: tuple[str, ...] = ()


_RELATIONAL = ("min_gap", "max_gap", "link", "order")  # options of cliques that `where` joins
_STATES = choice("seen", "all")


class CliqueSpec(Statement):
    """A clique index {(Δt, variable)} with its features. `name` None: unnamed; `label` is a readable name.

    `states` None: `seen`, or `all` if the only feature is `bias`. With `up_to` it is a `segment` statement: a clique
    over the segments of its only site. `least`, `up_to`, `longer` and `min_count` belong to that statement alone.
    """

    shapes = {
        "clique": (
            Part("sites", form="nodes"), Part("where", "where"), AS_NAME, OPTIONS, Part("features", form="list"),
        ),
        "segment": (
            Part("variable", form="word"), Part("least", "from"), Part("up_to", "up to"), AS_NAME, OPTIONS,
            Part("features", form="list"),
        ),
    }  # fmt: skip
    section, word, space = "cliques", "clique", "part"
    with_options = {
        "clique": {
            "states": _STATES,
            "edges": choice("inside", "pad"),
            "min_gap": count,
            "max_gap": count_or_none,
            "link": choice("next", "all"),
            "order": choice("forward", "any"),
        },
        "segment": {"states": _STATES, "longer": choice("forbidden", "together"), "min_count": count},
    }

    up_to: int | Reference | None = None
    least: int | Reference = 1
    longer: Literal["forbidden", "together"] = "forbidden"
    min_count: int | Reference = 1
    kind: Literal["clique"] = "clique"  # type: ignore[misc]  # behind those above, where JSON has it
    sites: tuple[Site, ...]
    where: Condition | None = None
    name: str | None = None
    states: Literal["seen", "all"] | None = None
    edges: Literal["inside", "pad"] = "inside"
    link: Literal["next", "all"] = "next"
    order: Literal["forward", "any"] = "forward"
    min_gap: int | Reference = 1
    max_gap: int | Reference | None = None
    features: tuple[Feature, ...] = ()
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        options = cls.read_options(reading)
        if reading.keyword == "segment":
            limits = {"up_to": 1} | read_limits(reading, ("least", "up_to"))
            place = reading.places["variable"]
            site = Site(variable=reading.parts["variable"], place=nodes.HERE)
            options |= {**limits, "sites": (site.at(_span(place), variable=place),)}
        parts = {name: part for name, part in reading.parts.items() if name in ("sites", "where", "name", "features")}
        return cls(**parts, **options)

    @property
    def keyword(self) -> str:
        return "segment" if self.segmental else "clique"

    @property
    def segmental(self) -> bool:
        """Whether its instances are the segments of a label: a `segment` statement."""
        return self.up_to is not None

    @property
    def relational(self) -> bool:
        """Whether its sites are named positions joined by `where`."""
        return self.where is not None or any(isinstance(site.place, nodes.Named) for site in self.sites)

    @property
    def positions(self) -> tuple[str, ...]:
        """The names of its positions, in the order of its sites: `("i", "j")`; empty if it is not relational."""
        return tuple(dict.fromkeys(site.place.position for site in self.sites if isinstance(site.place, nodes.Named)))

    @property
    def label(self) -> str:
        """Its name, or the clique index as written: `chunk[-1], chunk`."""
        return self.name or "segments of " * self.segmental + self.sites_text

    @property
    def sites_text(self) -> str:
        """The clique index as written: `chunk[-1], chunk`."""
        return ", ".join(_site_text(site) for site in self.sites)

    @property
    def idle_options(self) -> tuple[str, ...]:
        return ("edges",) if self.relational else _RELATIONAL

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        parts = super().plain_parts(every_option=every_option)
        if self.segmental:
            parts |= {"variable": self.sites[0].variable, "up_to": option_value(self.up_to or 1)}
            parts["least"] = option_value(self.least)
        if self.least == 1:
            parts.pop("least", None)
        return parts

    def plain_layout(self) -> Layout:
        if self.where is None or self.segmental:
            return super().plain_layout()
        return Layout(block=True, above=("where", "with"))


def _span(place: Span | tuple[Span, ...]) -> Span:
    return place if isinstance(place, Span) else place[0]


def _site_text(site: Site) -> str:
    place = site.place
    texts = {"here": lambda: "", "at": lambda: f"[{place.offset}]", "named": lambda: f"[{place.position}]"}  # type: ignore[union-attr]
    return site.variable + texts.get(place.kind, lambda: f"[{place.kind}]")()


class Piece(Statement, kind="piece"):
    """A part of the model that is normalised by itself."""

    shapes = {"piece": (NAME, Part("over", "over", "nodes"), Part("members", form="list"))}
    section, word, space = "pieces", "piece", "part"

    name: str
    over: tuple[Site, ...]
    members: tuple[nodes.Member, ...]
    doc: tuple[str, ...] = ()


# inference and training -----------------------------------------------------------------------------------------


class Stage(Statement, kind="stage"):
    """A `train` statement: `criterion` with its arguments and settings, started from the stage `after`."""

    shapes = {"train": (Part("call"), AS_NAME, Part("after", "after", "word"), Part("settings", form="list"))}
    section, word, space, most_inline = "stages", "stage", "stage", 1

    criterion: CallSpec
    name: str | None = None
    after: str | None = None
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        criterion = reading.call("call", "settings")
        assert criterion is not None
        return cls(criterion=criterion, name=reading.parts.get("name"), after=reading.parts.get("after"))

    @property
    def label(self) -> str:
        """Its name, or that of its criterion."""
        return self.name or self.criterion.name

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        return {**super().plain_parts(), **_call_parts(self.criterion)}


class Method(Statement):
    """`infer` or `decode` with its call. A specification holds the call alone."""

    shapes = dict.fromkeys(("infer", "decode"), (Part("call"), Part("settings", form="list")))
    most_inline = 1

    step: str
    call: CallSpec
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        call = reading.call("call", "settings")
        assert call is not None
        return cls(step=reading.keyword, call=call)

    @property
    def keyword(self) -> str:
        return self.step

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        return _call_parts(self.call)


def _call_parts(call: CallSpec) -> dict[str, Any]:
    """A call and, for the block below it, its settings."""
    alone = CallSpec(name=call.name, arguments=call.arguments)
    return {"call": alone, "settings": call.settings} if call.settings else {"call": alone}


class Evaluate(Statement):
    """`evaluate` with its metrics. A specification holds the metrics alone."""

    shapes = {"evaluate": (Part("metrics", form="items"),)}

    metrics: tuple[CallSpec, ...]
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        metrics = (
            Reading(reading.keyword, {"call": call}, {}, reading.problems).call("call")
            for call in reading.parts["metrics"]
        )
        return cls(metrics=tuple(call for call in metrics if call is not None))


class Use(Statement):
    """`use "base.dcrf"`: the statements of another file. A specification holds these."""

    shapes = {"use": (Part("path", form="text"),)}

    path: str
    doc: tuple[str, ...] = ()


# all of them ------------------------------------------------------------------------------------------------

# In the order in which the reference lists them.
STATEMENTS: tuple[type[Statement], ...] = (
    DataSpec, Label, Latent, Memory, View, Lexicon, Let, Use, FeatureGroup, CliqueSpec, Piece, Constraint, Once, Runs,
    Expectation, Method, Stage, Evaluate,
)  # fmt: skip
# Those whose names are looked up; stages have names of their own.
NAMED_STATEMENTS = tuple(kind for kind in STATEMENTS if kind.word and kind is not Stage)
BY_KEYWORD: Mapping[str, type[Statement]] = {keyword: kind for kind in STATEMENTS for keyword in kind.shapes}
KEYWORDS = ("dcrf", *BY_KEYWORD)
SHAPES: Shapes = {keyword: kind.shapes[keyword] for keyword, kind in BY_KEYWORD.items()}


AUTO = CallSpec(name="auto")
Declaration: TypeAlias = (
    Label | Latent | Memory | View | Lexicon | Let | FeatureGroup | CliqueSpec | Piece | Constraint | Once | Runs
    | Expectation
)  # fmt: skip


class Declarations(Node):
    """The statements of a whole model by what they declare: what a specification consists of."""

    data: DataSpec | None = None
    labels: tuple[Label, ...] = ()
    latents: tuple[Latent, ...] = ()
    memories: tuple[Memory, ...] = ()
    views: tuple[View, ...] = ()
    lexicons: tuple[Lexicon, ...] = ()
    lets: tuple[Let, ...] = ()
    groups: tuple[FeatureGroup, ...] = ()
    cliques: tuple[CliqueSpec, ...] = ()
    pieces: tuple[Piece, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    onces: tuple[Once, ...] = ()
    runs: tuple[Runs, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    infer: CallSpec = AUTO
    decode: CallSpec | None = None  # None: the rule that fits the criterion
    stages: tuple[Stage, ...] = ()
    evaluate: tuple[CallSpec, ...] = ()
    doc: tuple[str, ...] = ()


class Template(Node):
    """A whole file. `doc` is the `##` text at the top.

    `opening` are the comments before `dcrf 1`, `edition_end` the one on its line, `closing` those after the last
    statement.
    """

    statements: tuple[Statement, ...]
    edition: int | None = field(default=None, compare=False)
    doc: tuple[str, ...] = ()
    opening: tuple[str, ...] = field(default=(), compare=False, repr=False)
    edition_end: str = field(default="", compare=False, repr=False)
    closing: tuple[str, ...] = field(default=(), compare=False, repr=False)
