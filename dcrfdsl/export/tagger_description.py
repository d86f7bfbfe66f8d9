"""A trained model as the description and the arrays of an exported tagger (`standalone.tagger_model` reads them).

Only what has an effect is written: features with a weight other than 0, and of each vocabulary the texts of these. Not
here: whether the model can be exported (`exportable`), files.
"""

from __future__ import annotations

import itertools
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features import LARGEST, Factor, FeatureExtractor, FeatureSetPlan, leaves, reach
from ..foundation import Floats, Ints, Mask, dataclass
from ..graph import CliqueTemplate
from ..model import TrainedModel
from ..semantics import missing_mark, plain, spare_columns
from .exported_nodes import NodeWriter
from .standalone import FORMAT


@dataclass(frozen=True)
class TaggerContent:
    """description: JSON values.   texts: of lexicons and vocabularies.   num_weights: that are left.   slow: patterns
    of `re`.
    """

    description: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    texts: list[str]
    num_weights: int
    slow: tuple[str, ...]


def tagger_content(model: TrainedModel, bits: int, largest: int = LARGEST) -> TaggerContent:
    """What the files of an exported tagger hold. bits: of each weight, 64, 32 or 16.   largest: that a key may be."""
    return _Writer(model, np.dtype(f"f{bits // 8}"), min(largest, LARGEST)).content()


@dataclass(frozen=True)
class _Template:
    """The features of one template that are kept: their old numbers, and the code of each factor, [n, factors]."""

    place: int  # among the templates of its set
    feature: Ints
    codes: Ints


@dataclass
class _Writer:
    """Collects the parts of arrays, in the order in which the tagger will read them."""

    model: TrainedModel
    weight_type: np.dtype[Any]
    largest: int
    parts: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.learned: FeatureExtractor = self.model.extractor
        self.nodes = NodeWriter(self.model.spec, learned=self.model.extractor.learned)
        self.kind_tables = kind_tables(self.model)
        self.atoms: list[Any] = []
        self.atom_of: dict[str, int] = {}
        self.vocabulary_of: dict[str, int] = {}
        self.vocabularies: dict[str, tuple[list[str], Ints]] = {}  # by atom: the kept texts, and their old codes

    def add(self, name: str, values: NDArray[Any]) -> None:
        self.parts.setdefault(name, []).append(values)

    def content(self) -> TaggerContent:
        """The whole."""
        model, spec, graph = self.model, self.model.spec, self.model.graph
        assert spec.data is not None
        used = [self._templates(number) for number in range(len(self.learned.plans))]
        self._keep_texts(used)
        sets: list[dict[str, Any]] = []
        set_of: dict[int, int] = {}
        for number, templates in enumerate(used):
            if templates:
                set_of[number] = len(sets)
                sets.append(self._feature_set(number, templates))
        cliques = [self._clique(one, used, set_of) for one in graph.templates if one.segments is None]
        order, whole = graph.elimination_order(graph.shape(1)), sorted(graph.of_sentence)
        lexicons = self._lexicons()
        for texts, _ in (self.vocabularies[name] for name in self.vocabulary_of):
            self.texts.extend(texts)
        beside_labels = {one for label in spec.labels for one in (label.source, label.soft_column)}
        beside_labels &= {*spare_columns(spec)}
        description = {
            "format": FORMAT,
            "data": {"format": spec.data.format, **{o.name: plain(o.value) for o in spec.data.options if o.name}},
            "columns": [
                {
                    "name": c.name, "source": c.source, "type": c.type.name, "size": c.type.size,
                    "missing": missing_mark(spec.data) if c.type.size is None and not c.type.of else None,
                    "assignments": self._assignments.get(c.name, ()),
                }
                for c in spec.data.columns
                if c.name not in beside_labels
            ],
            "labels": [
                {
                    "name": label.name, "states": list(model.states[label.name]), "others": label.others,
                    "missing": label.missing, "ambiguous": label.ambiguous,
                }
                for label in spec.labels
            ],
            "decode": "marginal" if model.decode == "marginal" else "joint",  # which is exact here
            "temperature": model.temperature,
            "cards": list(graph.cards),
            "order": order[: len(order) - len(whole)],
            "whole": whole,
            "latents": list(graph.latents),
            "leaves": self.nodes.leaves,
            "atoms": self.atoms,
            "lexicons": lexicons,
            "vocabularies": [len(self.vocabularies[name][0]) for name in self.vocabulary_of],
            "sets": sets,
            "cliques": cliques,
        }  # fmt: skip
        num_weights = sum(map(len, self.parts.get("weights", ())))
        return TaggerContent(description, self._arrays(), self.texts, num_weights, tuple(self.nodes.slow))

    # features -----------------------------------------------------------------------------------------------------

    def _weights_of(self, clique: int) -> Floats:
        """The weights of a clique's features, entry by entry."""
        start = self.model.parameters.entry_start(clique)
        return self.model.weights[start : start + len(self.model.parameters.cliques[clique].entry)]

    def _templates(self, number: int) -> list[_Template]:
        """The templates of a set that still have a feature with a weight in some clique."""
        kept: Mask = np.zeros(self.learned.alphabets[number].num_features, np.bool_)
        for clique, of_clique in enumerate(self.model.parameters.cliques):
            if self.model.graph.templates[clique].feature_set == number:
                features = np.repeat(np.arange(len(kept)), np.diff(of_clique.run_off))
                kept[features[self._weights_of(clique) != 0]] = True
        out = []
        for place, tables in enumerate(self.learned.alphabets[number].templates):
            keys, feature = tables.last.entries()
            chosen = kept[feature]
            if chosen.any():
                out.append(_Template(place, feature[chosen].astype(np.int64), tables.codes(keys[chosen])))
        return out

    def _keep_texts(self, used: list[list[_Template]]) -> None:
        """Decides which texts of each vocabulary are kept: those of features that are."""
        codes_of: dict[str, list[Ints]] = {}
        for plan, templates in zip(self.learned.plans, used, strict=True):
            for template in templates:
                for n, factor in enumerate(plan.features[template.place].factors):
                    if (name := factor.atom) in self.learned.vocabularies.by_name:
                        codes_of.setdefault(name, []).append(template.codes[:, n])
        for name, codes in codes_of.items():
            texts = list(self.learned.vocabularies.by_name[name])
            kept = np.unique(np.concatenate(codes))
            kept = kept[kept < len(texts)]
            self.vocabularies[name] = [texts[code] for code in kept.tolist()], kept

    def _feature_set(self, number: int, templates: list[_Template]) -> dict[str, Any]:
        plan = self.learned.plans[number]
        written = []
        for n, template in enumerate(templates):
            feature = plan.features[template.place]
            codes, sizes = template.codes.copy(), []
            for axis, factor in enumerate(feature.factors):
                codes[:, axis], size = self._digits(factor, plan, codes[:, axis])
                sizes.append(size)
            keys, stages = _keys(codes, sizes, self.largest)
            order = np.argsort(keys)
            templates[n] = _Template(template.place, template.feature[order], codes)
            self.add("keys", np.diff(keys[order], prepend=0))
            for _, stage_keys in stages:
                self.add("stage_keys", np.diff(stage_keys, prepend=0))
            inside = None
            if feature.outside == "skip":
                places = [f.offset + at for f in feature.factors for _, at in leaves(self.model.spec, f.condition)]
                inside = [min(places), max(places)]
            written.append(
                {
                    "factors": [[self._atom(factor), factor.offset] for factor in feature.factors],
                    "sizes": sizes,
                    "count": len(keys),
                    "inside": inside,
                    "stages": [[before, len(stage_keys)] for before, stage_keys in stages],
                }
            )
        shape = next((one.segments for one in self.model.graph.templates if one.feature_set == number), None)
        segments = None if shape is None else [shape.limit, shape.together]
        pads = [plan.pad_left, plan.pad_right]
        return {"pads": pads, "templates": written, "summed": plan.summed, "segments": segments}

    def _digits(self, factor: Factor, plan: FeatureSetPlan, codes: Ints) -> tuple[Ints, int]:
        """The codes of a factor in its smaller vocabulary, and their number; 0 for a number, which takes no part in
        keys. Codes of places outside the sentence come after the vocabulary.
        """
        kind = self.atoms[self._atom(factor)][0]
        if kind not in ("texts", "bag"):
            return codes, int(kind != "number")
        texts, kept = self.vocabularies[factor.atom]
        size = len(self.learned.vocabularies.by_name[factor.atom])
        inside = np.searchsorted(kept, codes)
        outside = sum(reach(factor, plan.pad_left, plan.pad_right))
        return np.where(codes < size, inside, codes - size + len(texts)), len(texts) + outside

    def _atom(self, factor: Factor) -> int:
        name = factor.atom
        if name not in self.atom_of:
            self.atom_of[name] = len(self.atoms)
            self.atoms.append(
                self.nodes.atom(factor, lambda: self.vocabulary_of.setdefault(name, len(self.vocabulary_of)))
            )
        return self.atom_of[name]

    # cliques ------------------------------------------------------------------------------------------------------

    def _clique(self, template: CliqueTemplate, used: list[list[_Template]], set_of: dict[int, int]) -> dict[str, Any]:
        written = []
        has_weights = template.clique >= 0 and template.naming_set in set_of
        has_weights = has_weights and bool((self._weights_of(template.clique) != 0).any())
        for kind, table in zip(self.model.graph.kinds, self.kind_tables, strict=True):
            if kind.template is not template:
                continue
            cells = kind.full_assignments()
            self.add("tables", table)
            is_own = np.array_equal(cells, np.arange(template.num_assignments))
            mapped = (has_weights or template.num_codes > 0) and not is_own
            if mapped:
                self.add("maps", cells)
            written.append({"pattern": list(kind.pattern), "mapped": mapped})
        if has_weights and template.segment_length <= 1:  # segments of all lengths have the same weights
            self._entries(template, [one.feature for one in used[template.naming_set]])
        codes = 0 if template.coded is None else len(template.coded)
        priced = template.coded is not None and template.coded.dtype != np.bool_
        if template.coded is not None:
            self.add("prices" if priced else "allowed", template.coded.ravel())
        return {
            "variables": list(template.variables),
            "offsets": list(template.offsets),
            "padded": template.pad,
            "position": template.position,
            "set": set_of[template.naming_set] if has_weights else None,
            "segment": template.segment_length,
            "assignments": template.num_assignments,
            "kinds": written,
            "codes": codes,
            "priced": priced,
            "observed": [[self.nodes.observed(one), one.count] for one in template.observed],
            "given": [
                [term.column, term.scale, [[self.nodes.observed(one), one.count] for one in term.when]]
                for term in (() if template.given is None else template.given.terms)
            ],
        }

    @cached_property
    def _assignments(self) -> dict[str, list[str]]:
        """The names of what each column of scores scores, in the order of its numbers."""
        every = (template.given for template in self.model.graph.templates if template.given is not None)
        return {
            term.column: [" ".join(states) for states in itertools.product(*given.states)]
            for given in every
            for term in given.terms
        }

    def _entries(self, template: CliqueTemplate, features: list[Ints]) -> None:
        """The weights of a clique's features in their new order, without those that are 0."""
        of_clique, weights = self.model.parameters.cliques[template.clique], self._weights_of(template.clique)
        order = np.concatenate(features)
        start, count = of_clique.run_off[order], np.diff(of_clique.run_off)[order]
        entry = np.arange(int(count.sum())) + np.repeat(start - np.cumsum(count) + count, count)
        telling = weights[entry] != 0
        owner = np.repeat(np.arange(len(order)), count)[telling]
        self.add("runs", np.bincount(owner, minlength=len(order)))
        self.add("cells", of_clique.entry[entry][telling])
        self.add("weights", weights[entry][telling])

    # arrays -------------------------------------------------------------------------------------------------------

    def _lexicons(self) -> dict[str, list[Any]]:
        """Of each lexicon that is read the number of entries, whether they have values, and whether case counts not."""
        out = {}
        for name in self.nodes.lexicons:
            lexicon = self.learned.lexicons.by_name[name]
            self.texts.extend(lexicon.entries)
            self.texts.extend(lexicon.values or ())
            out[name] = [len(lexicon.entries), lexicon.values is not None, lexicon.ignores_case]
        return out

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {}
        for name, kind in KINDS.items():
            values = np.concatenate([np.zeros(0, kind), *self.parts.get(name, ())])
            arrays[name] = values.astype(self.weight_type) if kind is np.float64 else narrow(values)
        return arrays


def kind_tables(model: TrainedModel) -> list[Floats]:
    """Of each kind of factor the log potentials that all its instances share: biases and hard constraints, [size]."""
    graph = model.graph
    cells, bindings = graph.shared.hard_cells(), model.parameters.bindings(graph)
    np.add.at(cells, bindings.bias_cell, model.weights[bindings.bias_weight])
    return [cells[start:end] for start, end in pairwise(graph.shared.starts[: len(graph.kinds) + 1])]


KINDS = {
    "keys": np.int64, "stage_keys": np.int64, "runs": np.int64, "cells": np.int64, "maps": np.int64,
    "allowed": np.bool_, "prices": np.float64, "weights": np.float64, "tables": np.float64,
}  # fmt: skip


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers from 0 on in the smallest type that holds them."""
    return values if values.dtype == np.bool_ else values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _keys(codes: Ints, sizes: list[int], largest: int) -> tuple[Ints, list[tuple[int, Ints]]]:
    """The key of each row of codes, and the keys that are renumbered before a factor so that none is too large."""
    keys: Ints = np.zeros(len(codes), np.int64)
    stages: list[tuple[int, Ints]] = []
    span = 1
    for n, size in enumerate(sizes):
        if size == 0:
            continue
        if span * size > largest:
            distinct, keys = np.unique(keys, return_inverse=True)
            stages.append((n, distinct))
            span = len(distinct)
        keys = keys * size + codes[:, n]
        span *= size
    return keys, stages
