"""`Template`: a template written in Python, one method per statement.

A method returns what it declares, for use in later calls. Nothing is checked statement by statement: `spec()` writes
the template, reads it back and runs the checker, so every problem is the one that the template would have. Not here:
what is declared by name and features look at (`template_variables`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..foundation import PATHS, require_kind, require_list
from ..semantics import Draft, ModelSpec, Resolved, load_template, resolved_from_spec, to_text
from ..syntax import STATEMENTS, nodes as ex, statements
from .builder_nodes import as_call, as_count, as_doc, as_features, as_member, as_setting_value, as_settings, as_sites
from .builder_terms import Call, Clique, Constant, Expression, Lexicon, Term, Value, as_condition
from .complaints import with_plain_errors_in_methods
from .template_variables import TemplateVariables


@with_plain_errors_in_methods
class Template(TemplateVariables):
    """A model under construction: a template written in Python, with one method per statement.

    name: stands in messages for the name of a file.
    doc: the comment at the top of the template.
    directory: to which the paths of lexicons and state files are relative.

    A method returns what it declares, for use in later calls. Nothing is checked before `spec`, `dcrfdsl.check` or
    `dcrfdsl.fit` asks. An argument of the wrong type is a TypeError at once.

    >>> m = Template("chunker")
    >>> word, pos, tag = m.data("conll", "word", "pos", "chunk")
    >>> chunk = m.label("chunk", bio("NP"), others="O")
    >>> words = m.clique(chunk, features=[bias, word.window(-1, 1), pos])
    >>> chain = m.clique(chunk[-1], chunk, name="chain")
    >>> m.spec().cliques[1].label
    'chain'
    """

    # depends on each other ---------------------------------------------------------------------------------

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
        """Declares variables that depend on each other, and the features that weight them. Returns the clique.

        sites: the variables, each at its place: `chunk[-1], chunk`, or `ner[i], ner[j]` for positions that data joins.
        features: what weights the joint states; without any, `bias`.
        where: of a relational clique: the condition that joins positions i and j.
        name: by which `show`, priors and pieces refer to it.
        states: `seen`: a pair of feature and states has a weight if the training data shows it. `all`: every pair has.
        edges: `pad`: the clique also lies where some of its sites are outside the sentence.
        link: of a relational clique: i is joined to the `next` j that fits, or to `all`.
        order: of a relational clique: `forward`, only i < j, or `any`, every ordered pair.
        min_gap, max_gap: of a relational clique: the bounds of j - i, in positions.
        doc: the comment above the statement.

        >>> m = Template()
        >>> (word,) = m.data("conll", "word")
        >>> ner = m.label("ner")
        >>> chain = m.clique(ner[-1], ner, name="chain")
        >>> i, j = positions("i", "j")
        >>> skip = m.clique(ner[i], ner[j], where=word[i] == word[j], max_gap=200)
        """
        self._declare(
            statements.CliqueSpec(
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

    def segment(
        self,
        label: Term | str,
        features: Sequence[Expression | str],
        *,
        up_to: int | Constant,
        least: int | Constant = 1,
        name: str | None = None,
        states: Literal["seen", "all"] | None = None,
        longer: Literal["forbidden", "together"] = "forbidden",
        min_count: int | Constant = 1,
        doc: str = "",
    ) -> Clique:
        """Declares features of whole segments of a label (a semi-Markov model). Returns the clique.

        label: whose segments: those of its scheme, or without one the runs of a state.
        features: what weights a segment by its type: `"length"`, or functions of `apply("joined", word)`; also of
            `"any"`, `"first"` and `"last"`.
        up_to: the most tokens of a segment.
        least: the fewest tokens of a segment.
        name: by which `show` and priors refer to it.
        states: `seen`: a pair of feature and type has a weight if the training data shows it. `all`: every pair has.
        longer: `forbidden`: no segment is longer. `together`: longer ones have one length, and no other feature.
        min_count: the number of segments of the training data in which a feature must occur.
        doc: the comment above the statement.

        >>> m = Template()
        >>> (word,) = m.data("conll", "word")
        >>> chunk = m.label("chunk", bio("NP"))
        >>> spans = m.segment(chunk, ["length", lower(apply("joined", word))], up_to=8, name="spans")
        """
        self._declare(
            statements.CliqueSpec(
                sites=as_sites((label,)),
                name=name,
                states=states,
                up_to=as_count(up_to),
                least=as_count(least),
                longer=longer,
                min_count=as_count(min_count),
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
        cliques: Sequence[Clique | ex.Member | str],
        doc: str = "",
    ) -> Constant:
        """Declares a piece, which training normalises by itself. Returns it, for `call("piecewise", piece)`.

        name: of the piece.
        over: the variables that it sums over; what its cliques touch besides is conditioned on.
        cliques: its named cliques; `chain[1]` is the one at the next position, `locked(chain)` gets no gradient.
        doc: the comment above the statement.

        >>> m = Template()
        >>> (word,) = m.data("conll", "word")
        >>> chunk = m.label("chunk")
        >>> words = m.clique(chunk, features=[word], name="words")
        >>> chain = m.clique(chunk[-1], chunk, name="chain")
        >>> site = m.piece("site", over=chunk, cliques=[chain, chain[1], locked(words)])
        >>> m.train(call("piecewise", site))
        """
        sites = (over,) if isinstance(over, Term | str) else over
        require_list(cliques, "cliques", "cliques")
        members = tuple(map(as_member, cliques))
        self._declare(statements.Piece(name=name, over=as_sites(sites), members=members, doc=as_doc(doc)))
        return Constant(name)

    def forbid(
        self,
        condition: Expression,
        *,
        when: Expression | None = None,
        name: str | None = None,
        cost: float | Constant | None = None,
        doc: str = "",
    ) -> None:
        """Declares what no labelling may satisfy: a labelling that does has probability 0.

        condition: over labels, and what is observed beside them.
        when: where it must not hold; by default everywhere.
        name: stands in messages.
        cost: what each place costs where it is broken, in place of being impossible; a reward if negative.
        doc: the comment above the statement.

        >>> m = Template()
        >>> tag = m.label("tag", ["X", "Y"])
        >>> m.forbid(tag[-1].is_("X") & tag.is_("Y"), name="x_before_y")
        """
        self._declare(_constraint("forbid", condition, when, name, cost, doc))

    def require(
        self,
        condition: Expression,
        *,
        when: Expression | None = None,
        name: str | None = None,
        cost: float | Constant | None = None,
        doc: str = "",
    ) -> None:
        """Declares what every labelling must satisfy.

        condition: over labels, and what is observed beside them.
        when: where it must hold; by default everywhere.
        name: stands in messages.
        cost: what each place costs where it is broken, in place of being impossible; a reward if negative.
        doc: the comment above the statement.

        >>> m = Template()
        >>> word, pos = m.data("conll", "word", "pos")
        >>> chunk = m.label("chunk", bio("NP"))
        >>> m.require(chunk.is_("O"), when=pos.is_("SYM"))
        """
        self._declare(_constraint("require", condition, when, name, cost, doc))

    def once(self, label: Term | str, *, free: Sequence[str] = (), name: str | None = None, doc: str = "") -> None:
        """Declares that each type of a label's segments, or each of its states, occurs at most once in a sequence.

        label: with segments (`bio`, `bioes`, …), or with states of which a run counts as one.
        free: the types, or states, that may come again; `O` of a scheme always may.
        name: stands in messages.
        doc: the comment above the statement.

        >>> m = Template()
        >>> part = m.label("part", bio("STREET", "TOWN", "NOTE"))
        >>> m.once(part, free=["NOTE"])
        """
        (site,) = as_sites((label,))
        require_list(free, "free", "texts")
        self._declare(statements.Once(label=site.variable, free=tuple(free), name=name, doc=as_doc(doc)))

    def runs(
        self,
        label: Term | str,
        *,
        least: int | Constant = 1,
        most: int | Constant | None = None,
        state: str | None = None,
        ends: Literal["cut", "whole"] | None = None,
        name: str | None = None,
        doc: str = "",
    ) -> None:
        """Declares how long each run of a state may be, or each segment of a label with a scheme.

        label: whose runs, or segments.
        least: the fewest tokens of a run.
        most: the most tokens; None: any number.
        state: the state, or the type of segments, that is bounded; by default all that have no bounds of their own.
        ends: `cut`: the first and the last run of a sequence may be shorter. `whole`: they have the least length too.
            By default `whole` for segments, else `cut`.
        name: stands in messages.
        doc: the comment above the statement.

        >>> m = Template()
        >>> sleep = m.label("sleep", ["W", "N", "R"])
        >>> m.runs(sleep, least=4, most=60, state="R")
        """
        (site,) = as_sites((label,))
        self._declare(
            statements.Runs(
                variable=site.variable,
                state=state,
                least=as_count(least),
                most=None if most is None else as_count(most),
                name=name,
                ends=ends,
                doc=as_doc(doc),
            )
        )

    # inferred, trained, scored ------------------------------------------------------------------------------

    def infer(self, method: str | Call, **settings: Value) -> None:
        """Chooses the inference method of training and tagging. Without it, `auto`.

        method: `auto`, `exact`, `trp`, `bp`, `gbp`, `ep`, `mean_field`, `trw`, `gibbs` or `pruned`, or a `call` of one.
        settings: of the method; `dcrfdsl explain trp` lists those of `trp` with defaults and units.

        >>> Template().infer("exact")
        >>> Template().infer("trp", tolerance=1e-3)
        >>> Template().infer("pruned", by="coarse", threshold=1e-3)
        """
        self._single["infer"] = as_call(method, as_settings(settings))

    def decode(self, method: str | Call, **settings: Value) -> None:
        """Chooses how labels are read off the model. Without it, what the criterion trains for.

        method: `joint` (the best labelling), `marginal` (the likeliest state of each token), `local`,
            `certified` (with an upper bound on all scores) or `optimal` (with branch and bound), or a `call` of
            `fscore` with the label whose segments count.
        settings: of `certified` and `optimal`.

        >>> Template().decode("marginal")
        >>> Template().decode("optimal", nodes=500)
        >>> Template().decode(call("fscore", "chunk", gamma=2))
        """
        self._single["decode"] = as_call(method, as_settings(settings))

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
        """Adds a stage of training: what is minimised, by which optimizer, with which prior.

        criterion: `likelihood`, `mce`, `hmsvm`, `perceptron` … or a `call` of one with its arguments.
        name: of the stage; by default that of the criterion.
        after: the stage whose weights it begins with.
        priors: of single cliques, by clique or name; None means no prior.
        kernels: observation kernels of single cliques (`hmsvm`).
        doc: the comment above the statement.
        settings: `prior`, `optimizer`, `seed`, `restarts` … and the criterion's own; see `dcrfdsl explain train`.

        >>> m = Template()
        >>> (word,) = m.data("conll", "word")
        >>> tag = m.label("tag")
        >>> chain = m.clique(tag[-1], tag, name="chain")
        >>> m.train("likelihood", prior=gaussian(variance=10), priors={chain: None}, optimizer=lbfgs(memory=7))
        >>> m.train("mce", loss=call("label"), name="errors", after="likelihood")
        """
        for what, mapping in (("priors", priors), ("kernels", kernels)):
            require_kind(mapping, (Mapping, type(None)), what, "a mapping from clique to value")
        by_clique: dict[str, Mapping[Clique | str, Value | None]] = {"prior": priors or {}}
        by_clique["kernel"] = {**(kernels or {})}
        clique_settings = tuple(
            ex.Setting(
                key=(what, clique.named() if isinstance(clique, Clique) else clique), value=as_setting_value(value)
            )
            for what, of_cliques in by_clique.items()
            for clique, value in of_cliques.items()
        )
        call = as_call(criterion, (*as_settings(settings), *clique_settings))
        self._declare(statements.Stage(criterion=call, name=name, after=after, doc=as_doc(doc)))

    def evaluate(self, *metrics: str | Call) -> None:
        """Chooses what `TrainedModel.evaluate` and `dcrfdsl eval` measure. The first metric decides a search.

        metrics: calls such as `segments(chunk)`, or names; `dcrfdsl explain NAME` describes one.

        >>> m = Template()
        >>> pos, chunk = m.label("pos"), m.label("chunk", bio("NP"))
        >>> m.evaluate(segments(chunk), accuracy(pos), "joint_accuracy")
        """
        self._single["evaluate"] = tuple(as_call(metric, ()) for metric in metrics)

    def add(self, statement: Any) -> None:
        """Adds a statement that is already made, as `ModelSpec` holds it: a part of another specification.

        statement: such as `spec.cliques[0]`. TypeError for anything else.

        >>> m = Template()
        >>> m.add(load_template("address.dcrf").spec.labels[0])
        >>> m.text().splitlines()[1].split()[:2]
        ['label', 'part']
        """
        require_kind(
            statement, tuple(kind for kind in STATEMENTS if kind.word), "statement", "a part of a specification"
        )
        self._declare(statement)

    def use(self, path: str | Path) -> None:
        """Takes over the statements of a template file; `m["part"]` then returns what it declares.

        path: of the file, relative to the model's `directory`.

        Raises DcrfError where the file cannot be read or has a syntax error.

        >>> m = Template()
        >>> m.use("address.dcrf")
        >>> part = m["part"]
        """
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
            case statements.CliqueSpec():
                return Clique(name)
            case statements.Lexicon():
                return Lexicon(name)
            case statements.Let() | statements.Piece():
                return Constant(name)
            case _:
                return Term(name)

    def _repr_html_(self) -> str:
        """For notebooks: what the checker says so far, and the template."""
        return self.resolved()._repr_html_()

    def spec(self, *, unchecked: bool = False) -> ModelSpec:
        """The specification of the model, as a `ModelSpec`.

        unchecked: leaves out the checker; then only repeated declarations, and what a template cannot say, are errors.

        Raises DcrfError with every problem that the checker finds in the template of `text`.

        >>> m = Template()
        >>> m.use("address.dcrf")
        >>> m.spec().data.format
        'conll'
        """
        return self.resolved().require(unchecked=unchecked)

    def text(self) -> str:
        """The model as the text of a `.dcrf` template, even if the checker would refuse it.

        Paths of lexicons stay as they were given. It takes no argument.

        >>> m = Template()
        >>> tag = m.label("tag", ["A", "B"])
        >>> print(m.text())
        dcrf 1
        label tag in {A, B}
        <BLANKLINE>
        infer auto
        <BLANKLINE>
        """
        return to_text(self.spec(unchecked=True))

    def resolved(self) -> Resolved:
        """The specification with its places in the text of `text()`, as `dcrfdsl.check` and `dcrfdsl.fit` take it.

        It takes no argument, and raises nothing: problems are in the `diagnostics` of the result.

        >>> m = Template()
        >>> m.use("address.dcrf")
        >>> m.resolved().diagnostics
        ()
        """
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


def _constraint(
    action: Literal["forbid", "require"],
    condition: Expression,
    when: Expression | None,
    name: str | None,
    cost: float | Constant | None,
    doc: str,
) -> statements.Constraint:
    return statements.Constraint(
        action=action,
        condition=as_condition(condition),
        when=None if when is None else as_condition(when),
        name=name,
        cost=ex.Reference(name=cost.name) if isinstance(cost, Constant) else cost,
        doc=as_doc(doc),
    )
