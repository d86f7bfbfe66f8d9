"""The second part of `Template`: cliques, weights of segments, pieces and hard constraints.

Not here: what is declared by name (`template_variables`), how a model is trained (`template_builder`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..foundation import require_list
from ..syntax import statements
from .builder_nodes import as_count, as_doc, as_features, as_member, as_sites
from .builder_terms import Clique, Constant, Expression, Member, Term, as_condition
from .complaints import with_plain_errors_in_methods
from .template_variables import TemplateVariables


@with_plain_errors_in_methods
class TemplateCliques(TemplateVariables):
    """What depends on each other in a model under construction. Used as `Template`."""

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
        cliques: Sequence[Clique | Member | str],
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
        self, condition: Expression, *, when: Expression | None = None, name: str | None = None, doc: str = ""
    ) -> None:
        """Declares what no labelling may satisfy: a labelling that does has probability 0.

        condition: over labels, and what is observed beside them.
        when: where it must not hold; by default everywhere.
        name: stands in messages.
        doc: the comment above the statement.

        >>> m = Template()
        >>> tag = m.label("tag", ["X", "Y"])
        >>> m.forbid(tag[-1].is_("X") & tag.is_("Y"), name="x_before_y")
        """
        self._declare(_constraint("forbid", condition, when, name, doc))

    def require(
        self, condition: Expression, *, when: Expression | None = None, name: str | None = None, doc: str = ""
    ) -> None:
        """Declares what every labelling must satisfy.

        condition: over labels, and what is observed beside them.
        when: where it must hold; by default everywhere.
        name: stands in messages.
        doc: the comment above the statement.

        >>> m = Template()
        >>> word, pos = m.data("conll", "word", "pos")
        >>> chunk = m.label("chunk", bio("NP"))
        >>> m.require(chunk.is_("O"), when=pos.is_("SYM"))
        """
        self._declare(_constraint("require", condition, when, name, doc))

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


def _constraint(
    action: Literal["forbid", "require"], condition: Expression, when: Expression | None, name: str | None, doc: str
) -> statements.Constraint:
    return statements.Constraint(
        action=action,
        condition=as_condition(condition),
        when=None if when is None else as_condition(when),
        name=name,
        doc=as_doc(doc),
    )
