"""The first half of `Template`: what a template declares by name, and features look at.

Columns, lexicons, labels, latent variables, memories, views, feature groups and constants. Not here: what depends on
each other, how it is trained, and the finished template (`template_builder`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..foundation import require_kind
from ..semantics import Entry, Resolved, validated
from ..syntax import Column, DataSpec, nodes as ex, statements
from .builder_nodes import (
    Domain,
    as_call,
    as_column,
    as_count,
    as_doc,
    as_domain,
    as_features,
    as_option,
    as_value,
    as_value_if,
)
from .builder_terms import Call, Constant, Expression, Lexicon, Term, Value
from .complaints import with_plain_errors_in_methods
from .term_functions import Keyed


@with_plain_errors_in_methods
class TemplateVariables:
    """The declarations of a model under construction. Used as `Template`."""

    def __init__(self, name: str = "model", *, doc: str = "", directory: str | Path = "."):
        require_kind(name, str, "name", "a text")
        self.name = name
        self.directory = Path(directory)
        self._doc = as_doc(doc)
        self._used: list[Resolved] = []
        self._items: list[Entry] = []
        self._single: dict[str, object] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _declare(self, statement: Entry) -> None:
        self._items.append(validated(statement))

    # observed -----------------------------------------------------------------------------------------------

    def data(
        self,
        format: str,
        *columns: str,
        options: Mapping[str, Value] | None = None,
        doc: str = "",
        **sources: str | Keyed,
    ) -> tuple[Term, ...]:
        """Declares the format of the data and its columns. Returns a term for each column.

        format: `conll` (columns of text), `conllu` or `jsonl`.
        columns: their names in order, with a type unless it is a text: `"word"`, `"height:float"`, `"n:int"`,
            `"pixels:vector(128)"`, `"logits:scores(tag)"`.
        options: of the reader, such as `{"comment": "#"}`.
        doc: the comment above the statement.
        sources: columns by keyword, with their name in the data: `word="form"`, `case=feats("Case")`,
            `tag=joined("upos", "feats")`.

        >>> word, pos, tag = Template().data("conll", "word", "pos", "chunk", options={"comment": "#"})
        >>> word, case = Template().data("conllu", word="form", case=feats("Case"))
        """
        require_kind(options, (Mapping, type(None)), "options", "a mapping from name to value")
        declared = [as_column(text) for text in columns]
        for name, source in sources.items():
            keyed = Keyed(source) if isinstance(source, str) else source
            declared.append(validated(Column(name=name, source=keyed.source, key=keyed.key)))
        self._single["data"] = validated(
            DataSpec(
                format=format,
                columns=tuple(declared),
                options=tuple(
                    ex.Argument(value=as_option(value), name=name) for name, value in (options or {}).items()
                ),
                doc=as_doc(doc),
            )
        )
        return tuple(Term(column.name) for column in declared)

    def lexicon(self, name: str, path: str, *, case: Literal["exact", "ignore"] = "exact", doc: str = "") -> Lexicon:
        """Declares a list or a map of words in a file. Returns it, for `word.in_(places)` or `brill(word)`.

        name: by which the template refers to it.
        path: of the file, relative to the model's `directory`.
        case: `ignore` matches an entry whatever the case of its letters and of the text's.
        doc: the comment above the statement.

        The file has an entry a line; with a TAB and a second column it is a map.

        >>> m = Template()
        >>> (word,) = m.data("conll", "word")
        >>> places = m.lexicon("places", "places.txt")
        >>> is_place = word.in_(places)
        """
        self._declare(statements.Lexicon(name=name, path=path, case=case, doc=as_doc(doc)))
        return Lexicon(name)

    # labelled -----------------------------------------------------------------------------------------------

    def label(
        self,
        name: str,
        domain: Domain = None,
        *,
        others: str | None = None,
        missing: str | None = None,
        ambiguous: str | None = None,
        soft: str | None = None,
        source: str | None = None,
        covers: Mapping[str, Sequence[str] | Literal["all"]] | None = None,
        constrain: bool = True,
        per: Literal["token", "sentence"] = "token",
        doc: str = "",
    ) -> Term:
        """Declares an output variable, whose gold states are in the column of its name. Returns its term.

        name: of the label and of its column.
        domain: its states as a list, `bio(…)`, `bioes(…)` …, `state_file(…)`; by default those of the data.
        others: the state that stands for all values that `domain` does not list.
        missing: the text that marks an unknown label in the data.
        ambiguous: the text between the states that a token may have, as in `NN|VB`.
        soft: the mark between a state and its weight in cells that are distributions, as in `NN:0.8|VB:0.2`; or the
            column of `scores(…)` that has the probabilities where the label itself is missing.
        source: the column that says who annotated a token.
        covers: the types that each source annotates, or `"all"`; others may hide where it marks nothing.
        constrain: whether segments must be well formed (no `I-X` after `O`).
        per: whether each `token` has a state, or a `sentence` has one.
        doc: the comment above the statement.

        >>> m = Template()
        >>> pos = m.label("pos")  # states learned from the training data
        >>> chunk = m.label("chunk", ["B-NP", "I-NP", "O"], others="O")
        >>> intent = m.label("intent", ["BUY", "SELL"], per="sentence")
        >>> ner = m.label("ner", bio("PER", "LOC"), source="origin", covers={"wiki": ["PER"], "gold": "all"})
        """
        self._declare(
            statements.Label(
                name=name,
                domain=as_domain(domain),
                others=others,
                missing=missing,
                ambiguous=ambiguous,
                soft=soft,
                source=source,
                covers=tuple(
                    f"{one}: {types if isinstance(types, str) else ' '.join(types)}"
                    for one, types in (covers or {}).items()
                ),
                constrain=constrain,
                per=per,
                doc=as_doc(doc),
            )
        )
        return Term(name)

    def latent(self, name: str, domain: Sequence[str] | int | ex.Domain, *, doc: str = "") -> Term:
        """Declares a variable that the data never shows. Returns its term.

        name: of the variable.
        domain: the number of its states, or a list of them.
        doc: the comment above the statement.

        >>> m = Template()
        >>> sense, done = m.latent("sense", 4), m.latent("done", ["no", "yes"])
        """
        self._declare(statements.Latent(name=name, domain=as_domain(domain), doc=as_doc(doc)))
        return Term(name)

    def memory(
        self,
        name: str,
        value: Expression | ex.ValueIf | str | Callable[[Term], Expression | ex.ValueIf],
        *,
        domain: Domain = None,
        initially: str | None = None,
        doc: str = "",
    ) -> Term:
        """Declares a variable that follows from earlier labels and observations. Returns its term.

        name: of the memory.
        value: a condition (states `no` and `yes`) or `if_else(…)`. One that reads its own past is a function of itself.
        domain: its states, such as `states_of(role)`; by default they follow from `value`.
        initially: its state at the first position, whatever `value` says of it.
        doc: the comment above the statement.

        >>> m = Template()
        >>> pos = m.label("pos")
        >>> seen_verb = m.memory("seen_verb", lambda seen: seen[-1] | pos[-1].matches("VB.*"))
        """
        kinds: Any = (Expression, ex.ValueIf, str, Callable)  # mypy takes the last for no class
        require_kind(value, kinds, "value", "a condition, or a function of the memory")
        said = value if isinstance(value, Expression | ex.ValueIf | str) else value(Term(name))
        self._declare(
            statements.Memory(
                name=name,
                value=as_value_if(said),
                domain=None if domain is None else as_domain(domain),
                initially=initially,
                doc=as_doc(doc),
            )
        )
        return Term(name)

    def view(self, name: str, value: Expression | ex.ValueIf | str, *, doc: str = "") -> Term:
        """Declares a coarser reading of a label, whose states then share weights. Returns its term.

        name: of the view.
        value: a condition on one label, or `if_else(…)`.
        doc: the comment above the statement.

        >>> m = Template()
        >>> pos = m.label("pos")
        >>> noun = m.view("noun", pos.matches("N.*"))
        """
        self._declare(statements.View(name=name, value=as_value_if(value), doc=as_doc(doc)))
        return Term(name)

    # features and constants ---------------------------------------------------------------------------------

    def features(
        self,
        name: str,
        *features: Expression | str,
        min_count: int | Constant = 1,
        outside: Literal["boundary", "skip"] = "boundary",
        doc: str = "",
    ) -> Term:
        """Declares a named group of features. Index the returned term to shift the whole group: `token.window(-1, 1)`.

        name: of the group.
        features: columns, feature functions, conditions, crosses `a & b`, and other groups.
        min_count: how often a feature must occur in the training data to get a weight.
        outside: beyond the ends of a sentence a feature has the value `boundary`, or (`skip`) does not fire.
        doc: the comment above the statement.

        >>> m = Template()
        >>> word, pos = m.data("conll", "word", "pos")
        >>> token = m.features("token", word.window(-2, 2), pos[-1] & pos, word.has("[0-9]"), min_count=2)
        """
        self._declare(
            statements.FeatureGroup(
                name=name,
                features=as_features(features),
                min_count=as_count(min_count),
                outside=outside,
                doc=as_doc(doc),
            )
        )
        return Term(name)

    def let(self, name: str, value: Value, *, tune: Call | None = None, doc: str = "") -> Constant:
        """Declares a constant, to use in place of a value. Returns it.

        name: of the constant.
        value: a number, a text, a prior …
        tune: the range that `dcrfdsl.tune` searches: `call("log", 0.1, 1000)`, `call("linear", 0, 1)`.
        doc: the comment above the statement.

        >>> m = Template()
        >>> variance = m.let("variance", 10, tune=call("log", 0.1, 1000))
        >>> m.train("likelihood", prior=gaussian(variance=variance))
        """
        search = None if tune is None else as_call(tune, ())
        self._declare(statements.Let(name=name, value=as_value(value), tune=search, doc=as_doc(doc)))
        return Constant(name)
