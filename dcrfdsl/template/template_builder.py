"""`Template`: a template written in Python, one method per statement.

A method returns what it declares, for use in later calls. Nothing is checked statement by statement: `spec()` writes
the template, reads it back and runs the checker, so every problem is the one that the template would have. Not here:
what is declared by name (`template_variables`), cliques and constraints (`template_cliques`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..foundation import PATHS, require_kind
from ..semantics import Draft, ModelSpec, Resolved, load_template, resolved_from_spec, to_text
from ..syntax import STATEMENTS, nodes as ex, statements
from .builder_nodes import as_call, as_doc, as_setting_value, as_settings
from .builder_terms import Call, Clique, Constant, Lexicon, Term, Value
from .complaints import with_plain_errors_in_methods
from .template_cliques import TemplateCliques


@with_plain_errors_in_methods
class Template(TemplateCliques):
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
            `certified` (with an upper bound on all scores) or `optimal` (with branch and bound).
        settings: of the last two.

        >>> Template().decode("marginal")
        >>> Template().decode("optimal", nodes=500)
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
