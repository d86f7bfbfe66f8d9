"""A corpus with its features, to be bound to a model: as it is, clamped to known labels, or a sentence once a case.

Not here: what is inferred on bound data (`predictor`, `case_sums`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ..data import Corpus, EncodedLabels
from ..features import FeatureRows, Pairs
from ..foundation import Mask, data_error
from ..graph import FREE, ModelGraph, clamp_rows, clamped_graph, restricted_graph
from ..inference import Binder, BoundData, bind_clamped
from .supervised_data import gold_of

if TYPE_CHECKING:
    from .predictor import ModelStructure

LARGEST = 1e100  # value of a feature: a product with weights, and sums of them, are then finite
EVENT = "event on"  # before the name of a variable: the factor that restricts it


@dataclass(frozen=True, eq=False)
class CorpusBinding:
    """Binds one corpus. rows: of each feature set.   relations: the pairs of each relational clique.

    DcrfError where a value is so large that sums of scores may not be finite: the best labels would be any.
    """

    structure: ModelStructure
    corpus: Corpus
    rows: Sequence[FeatureRows]
    relations: Mapping[int, Pairs]

    def __post_init__(self) -> None:
        for rows in self.rows:
            sizes = np.abs(rows.value)
            if len(sizes) and not sizes.max() <= LARGEST:
                self._refuse(rows, int(np.flatnonzero(~(sizes <= LARGEST))[0]))

    def _refuse(self, rows: FeatureRows, entry: int) -> NoReturn:
        corpus = self.corpus
        row = int(np.searchsorted(rows.row_off, entry, side="right")) - 1
        first = rows.first_row(corpus.sentence_off) - rows.pad_left
        sentence = int(np.searchsorted(first, row, side="right")) - 1
        line = int(corpus.token_line[corpus.sentence_off[sentence]])
        message = f"a number of this sentence is too large for scores: a feature has the value {rows.value[entry]:.6g}"
        remedy = "give numbers in a unit in which they are near 1"
        raise data_error("bad-value", message, file=corpus.file, line=line, help=remedy)

    def __call__(
        self, programs: bool, latents_first: bool, known: EncodedLabels | None, graph: ModelGraph | None = None
    ) -> BoundData:
        """The corpus bound to the model, clamped to the labels `known`; see `Binder` for the other arguments.

        graph: by default the model's.
        """
        structure, off = self.structure, self.corpus.sentence_off
        graph = structure.graph if graph is None else graph
        if known is None:
            return structure.binder(graph, programs, latents_first).bind(self.rows, off, self.relations)
        gold = gold_of(structure.spec, structure.states, structure.extractor, self.corpus, known)
        how = {"programs": programs, "latents_first": latents_first}
        return bind_clamped(graph, structure.parameters, self.rows, gold, off, self.relations, **how)

    def restricted(self, programs: bool, known: EncodedLabels | None, allowed: Mapping[int, Mask]) -> BoundData:
        """As without restrictions, with one more feature set for each variable of `allowed`; its codes are all free.

        allowed: by variable, which states each code allows [codes, card]; code 0 allows all.
        """
        structure, off, rows = self.structure, self.corpus.sentence_off, tuple(self.rows)
        count = self.corpus.num_tokens
        free = FeatureRows(np.arange(count + 1, dtype=np.int64), np.full(count, FREE, np.int32), np.zeros(0))
        if known is None:
            binder = structure.restricted_binder(programs, allowed, len(rows))
            return binder.bind((*rows, *(free for _ in allowed)), off, self.relations)
        gold = gold_of(structure.spec, structure.states, structure.extractor, self.corpus, known)
        graph, rows = clamped_graph(structure.graph, gold, len(rows)), (*rows, *clamp_rows(structure.graph, gold))
        graph = restricted_graph(graph, allowed, len(rows), EVENT)
        binder = Binder(graph, structure.parameters, programs=programs)
        return binder.bind((*rows, *(free for _ in allowed)), off, self.relations)
