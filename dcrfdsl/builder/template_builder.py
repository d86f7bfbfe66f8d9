"""`Model`: a template written in Python, one method per statement.

A method returns what it declares, for use in later calls. Nothing is checked statement by statement: `spec()` writes
the template, reads it back and runs the checker, so every problem is the one that the template would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..errors import PATHS, require_kind, require_list
from ..semantics import Draft, Entry, ModelSpec, Resolved, load_template, resolved_from_spec, to_text
from ..semantics.schema import expressions as ex, model_spec as spec_model
from .builder_nodes import (
    Domain,
    as_call,
    as_column,
    as_count,
    as_doc,
    as_domain,
    as_features,
    as_member,
    as_option,
    as_setting_value,
    as_settings,
    as_sites,
    as_value,
    as_value_if,
)
from .builder_terms import Call, Choice, Clique, Constant, Expression, Lexicon, Member, Term, Value, as_condition
from .complaints import with_plain_errors_in_methods
from .term_functions import Feats

__all__ = ["Model"]


@with_plain_errors_in_methods
class Model:
    """A model under construction. `name` appears in messages; `doc` is the comment at the top of the template.

    The paths of lexicons and state files are relative to `directory`.

    >>> m = Model("chunker")
    >>> word, pos, tag = m.data("conll", "word", "pos", "chunk")
    >>> chunk = m.label("chunk", bio("NP"), others="O")
    >>> chain = m.clique(chunk[-1], chunk, name="chain")
    >>> m.spec().cliques[0].label
    'chain'
    """

    def __init__(self, name: str = "model", *, doc: str = "", directory: str | Path = "."):
        require_kind(name, str, "name", "a text")
        self.name = name
        self.directory = Path(directory)
        self._doc = as_doc(doc)
        self._used: list[Resolved] = []
        self._items: list[Entry] = []
        self._single: dict[str, object] = {}

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    # observed -----------------------------------------------------------------------------------------------

    def data(
        self,
        format: str,
        *columns: str,
        options: Mapping[str, Value] | None = None,
        doc: str = "",
        **sources: str | Feats,
    ) -> tuple[Term, ...]:
        """Declares the reader and its columns; returns a term for each column.

        A column is its name, with a type unless it is a text: `"word"`, `"height:float"`, `"pixels:vector(128)"`. A
        keyword names the source of a column: `word="form"`, `case=feats("Case")`. `options` are those of the reader.

        >>> word, pos, tag = Model().data("conll", "word", "pos", "chunk", options={"comment": "#"})
        """
        require_kind(options, (Mapping, type(None)), "options", "a mapping from name to value")
        declared = [as_column(text) for text in columns]
        for name, source in sources.items():
            if isinstance(source, str):
                declared.append(spec_model.Column(name=name, source=source))
            else:
                declared.append(spec_model.Column(name=name, source="feats", key=source.key))
        self._single["data"] = spec_model.DataSpec(
            format=format,
            columns=tuple(declared),
            options=tuple(ex.Argument(value=as_option(value), name=name) for name, value in (options or {}).items()),
            doc=as_doc(doc),
        )
        return tuple(Term(column.name) for column in declared)

    def lexicon(self, name: str, path: str, *, doc: str = "", **options: Value) -> Lexicon:
        """A list or map in a file: `places = m.lexicon("places", "places.txt")`, then `word.in_(places)`."""
        self._items.append(spec_model.Lexicon(name=name, path=path, options=as_settings(options), doc=as_doc(doc)))
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
        constrain: bool = True,
        doc: str = "",
    ) -> Term:
        """An output variable, read from the column with its name.

        >>> m = Model()
        >>> pos = m.label("pos")  # states learned from the training data
        >>> chunk = m.label("chunk", ["B-NP", "I-NP", "O"], others="O")
        """
        self._items.append(
            spec_model.Label(
                name=name,
                domain=as_domain(domain),
                others=others,
                missing=missing,
                ambiguous=ambiguous,
                constrain=constrain,
                doc=as_doc(doc),
            )
        )
        return Term(name)

    def latent(self, name: str, domain: Sequence[str] | int | spec_model.Domain, *, doc: str = "") -> Term:
        """A variable that is never observed: `m.latent("sense", 4)`, `m.latent("done", ["no", "yes"])`."""
        self._items.append(spec_model.Latent(name=name, domain=as_domain(domain), doc=as_doc(doc)))
        return Term(name)

    def memory(
        self,
        name: str,
        value: Expression | Choice | str | Callable[[Term], Expression | Choice],
        *,
        domain: Domain = None,
        initially: str | None = None,
        doc: str = "",
    ) -> Term:
        """A deterministic function of earlier labels and observations.

        A memory that reads its own past is written as a function of itself:

        >>> m = Model()
        >>> pos = m.label("pos")
        >>> seen_verb = m.memory("seen_verb", lambda seen: seen[-1] | pos[-1].matches("VB.*"))
        """
        require_kind(value, (Expression, Choice, str, Callable), "value", "a condition, or a function of the memory")  # type: ignore[arg-type]
        said = value if isinstance(value, Expression | Choice | str) else value(Term(name))
        self._items.append(
            spec_model.Memory(
                name=name,
                value=as_value_if(said),
                domain=None if domain is None else as_domain(domain),
                initially=initially,
                doc=as_doc(doc),
            )
        )
        return Term(name)

    def view(self, name: str, value: Expression | Choice | str, *, doc: str = "") -> Term:
        """A many-to-one map of a label's states, to tie weights: `m.view("noun", pos.matches("N.*"))`."""
        self._items.append(spec_model.View(name=name, value=as_value_if(value), doc=as_doc(doc)))
        return Term(name)

    # looked at, depends on ----------------------------------------------------------------------------------

    def features(
        self,
        name: str,
        *features: Expression | str,
        min_count: int | Constant = 1,
        outside: Literal["boundary", "skip"] = "boundary",
        doc: str = "",
    ) -> Term:
        """A named group of features; index it to shift the whole group: `token[-1:1]`.

        >>> m = Model()
        >>> word, pos = m.data("conll", "word", "pos")
        >>> token = m.features("token", word[-2:2], pos[-1] & pos, word.has("[0-9]"), min_count=2)
        """
        self._items.append(
            spec_model.FeatureGroup(
                name=name,
                features=as_features(features),
                min_count=as_count(min_count),
                outside=outside,
                doc=as_doc(doc),
            )
        )
        return Term(name)

    def clique(
        self,
        *sites: Term | str,
        features: Sequence[Expression | str] = (),
        where: Expression | None = None,
        name: str | None = None,
        states: Literal["seen", "all"] | None = None,
        edges: Literal["inside", "pad"] = "inside",
        link: Literal["next", "all"] = "next",
        order: Literal["forward", "any"] = "forward",
        min_gap: int | Constant = 1,
        max_gap: int | Constant | None = None,
        doc: str = "",
    ) -> Clique:
        """Variables that depend on each other, and the features that weight them. Without features: `bias`.

        >>> m = Model()
        >>> (word,) = m.data("conll", "word")
        >>> ner = m.label("ner")
        >>> chain = m.clique(ner[-1], ner, name="chain")
        >>> i, j = positions("i", "j")
        >>> skip = m.clique(ner[i], ner[j], where=word[i] == word[j], max_gap=200)
        """
        self._items.append(
            spec_model.CliqueSpec(
                sites=as_sites(sites),
                where=None if where is None else as_condition(where),
                name=name,
                states=states,
                edges=edges,
                link=link,
                order=order,
                min_gap=as_count(min_gap),
                max_gap=None if max_gap is None else as_count(max_gap),
                features=as_features(features),
                doc=as_doc(doc),
            )
        )
        return Clique(name)

    def piece(
        self,
        name: str,
        *,
        over: Term | str | Sequence[Term | str],
        cliques: Sequence[Clique | Member | str],
        doc: str = "",
    ) -> Constant:
        """A piece of a parameter independence diagram: normalised over `over`, with the factors of `cliques`.

        `m.piece("site", over=chunk, cliques=[chain, chain[1], locked(words)])`
        """
        sites = (over,) if isinstance(over, Term | str) else over
        require_list(cliques, "cliques", "cliques")
        members = tuple(map(as_member, cliques))
        self._items.append(spec_model.Piece(name=name, over=as_sites(sites), members=members, doc=as_doc(doc)))
        return Constant(name)

    def forbid(self, condition: Expression, *, name: str | None = None, doc: str = "") -> None:
        """No labelling may satisfy the condition: `m.forbid(tag[-1].is_("X") & tag.is_("Y"))`."""
        node = as_condition(condition)
        self._items.append(spec_model.Constraint(action="forbid", condition=node, name=name, doc=as_doc(doc)))

    def require(
        self, condition: Expression, *, when: Expression | None = None, name: str | None = None, doc: str = ""
    ) -> None:
        """Every labelling satisfies the condition: `m.require(phrase == phrase[-1], when=done[-1].is_("no"))`."""
        self._items.append(
            spec_model.Constraint(
                action="require",
                condition=as_condition(condition),
                when=None if when is None else as_condition(when),
                name=name,
                doc=as_doc(doc),
            )
        )

    # inferred, trained, scored ------------------------------------------------------------------------------

    def infer(self, method: str | Call, **settings: Value) -> None:
        """The inference method: `m.infer("exact")`, `m.infer("trp", tolerance=1e-3)`.

        Keyword arguments become settings of the block; `m.infer(call("trp", tolerance=1e-3))` writes them in brackets.
        """
        self._single["infer"] = as_call(method, as_settings(settings))

    def decode(self, method: str | Call) -> None:
        """`m.decode("joint")`, `"marginal"` or `"local"`."""
        self._single["decode"] = as_call(method, ())

    def train(
        self,
        criterion: str | Call,
        *,
        name: str | None = None,
        after: str | None = None,
        priors: Mapping[Clique | str, Value | None] | None = None,
        kernels: Mapping[Clique | str, Value] | None = None,
        doc: str = "",
        **settings: Value | None,
    ) -> None:
        """A training stage; `priors` and `kernels` belong to single cliques, `prior=None` means no prior.

        `m.train("likelihood", prior=gaussian(variance=10), priors={chain: None}, optimizer=lbfgs(memory=7))`
        `m.train("hmsvm", C=10, loss=call("hamming", letter), kernels={image: call("rbf", gamma=0.02)})`
        """
        for what, mapping in (("priors", priors), ("kernels", kernels)):
            require_kind(mapping, (Mapping, type(None)), what, "a mapping from clique to value")
        by_clique: dict[str, Mapping[Clique | str, Value | None]] = {"prior": priors or {}}
        by_clique["kernel"] = {**(kernels or {})}
        clique_settings = tuple(
            spec_model.Setting(
                key=(what, clique.named() if isinstance(clique, Clique) else clique), value=as_setting_value(value)
            )
            for what, of_cliques in by_clique.items()
            for clique, value in of_cliques.items()
        )
        call = as_call(criterion, (*as_settings(settings), *clique_settings))
        self._items.append(spec_model.Stage(criterion=call, name=name, after=after, doc=as_doc(doc)))

    def evaluate(self, *metrics: str | Call) -> None:
        """`m.evaluate(segments(chunk), accuracy(pos), "joint_accuracy")`"""
        self._single["evaluate"] = tuple(as_call(metric, ()) for metric in metrics)

    def let(self, name: str, value: Value, *, tune: Call | None = None, doc: str = "") -> Constant:
        """A constant, optionally with a search range: `m.let("variance", 10, tune=call("log", 0.1, 1000))`."""
        search = None if tune is None else as_call(tune, ())
        self._items.append(spec_model.Let(name=name, value=as_value(value), tune=search, doc=as_doc(doc)))
        return Constant(name)

    def use(self, path: str | Path) -> None:
        """Includes a template file, relative to `directory`; `m["chunk"]` then returns what it declares."""
        require_kind(path, PATHS, "path", "the path of a template file")
        resolved = load_template(self.directory / path)
        resolved.require(unchecked=True)  # only a part of a model; the whole is checked later
        self._used.append(resolved)

    # results ------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        """The declaration with this name, in this model or a template that it uses; `KeyError` if there is none."""
        spec, _ = self._drafted()
        item = spec.declaration(name)
        if item is None and spec.column(name) is None:
            raise KeyError(name)
        match item:
            case spec_model.CliqueSpec():
                return Clique(name)
            case spec_model.Lexicon():
                return Lexicon(name)
            case spec_model.Let() | spec_model.Piece():
                return Constant(name)
            case _:
                return Term(name)

    def spec(self, *, unchecked: bool = False) -> ModelSpec:
        """The specification. `DcrfError` with every problem that the checker finds in the template of `text`;
        `unchecked`: only problems that the language cannot express, or repeated declarations.
        """
        return self.resolved().require(unchecked=unchecked)

    def text(self) -> str:
        """The model as a template, even if the checker would refuse it; paths of lexicons stay as they were given."""
        return to_text(self.spec(unchecked=True))

    def resolved(self) -> Resolved:
        """The specification with its places in the text of `text()`, as the checker and `fit` take it."""
        spec, draft = self._drafted()
        if draft.problems:
            return Resolved(spec, diagnostics=tuple(draft.problems), directories=draft.directories)
        return resolved_from_spec(spec, self.name, directory=self.directory, directories=draft.directories)

    def _drafted(self) -> tuple[ModelSpec, Draft]:
        draft = Draft(doc=self._doc)
        for n, used in enumerate(self._used):
            draft.file = (n,)
            draft.include(used.spec)
            draft.directories.update(used.directories)
        draft.file = ()
        for item in self._items:
            draft.add(item)
            if item.name is not None:
                draft.directories.setdefault(item.name, self.directory)
        for field, value in self._single.items():
            draft.clear(field)
            draft.set(field, value)
        return draft.finish(), draft
