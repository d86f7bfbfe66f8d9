"""A chain over given scores as an ONNX graph: scores of a net go in, the best labels and their probabilities come out.

The labels of a position are one joint state of J. Where cliques reach m positions back, the state of a recursion is
that of m positions, alpha [B, J^m], and each step adds a position (Rabiner 1989, section III, where m is 1):

    alpha'[r, k] = U[k] + max over q, or log Σ exp over q, of alpha[q, r] + W[q, r, k]

k is the state of the new position, q that of the one which is left behind, r those of the m - 1 between. U has the
scores given for the new position; W is what all sentences share, and differs near their ends. Before the first position
stands state 0 alone. Not here: which models programs can follow at all (`exportable`), other programs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..foundation import Floats, Ints, LazyModule, data_error, ensure_writable, json_text, needed, write_whole
from ..model import TrainedModel
from ..semantics import to_text
from .exportable import refuse_unless_exportable
from .tagger_description import kind_tables

OPSET, IR = 17, 8  # a runtime from 2022 on reads them
MOST_ENTRIES = 2**20  # of W
PROGRAM = "write a program, which has all of it: `-o tagger.py`"
LENGTHS, RESERVED = "lengths", {"lengths", "labels", "score", "marginals", "log_z"}
Value: TypeAlias = "str | float | Sequence[int] | NDArray[Any]"  # of a node: its name, or a constant
onnx = LazyModule("onnx")


def export_onnx(model: TrainedModel, path: str | Path, *, bits: int = 64, marginals: bool = False) -> Path:
    """Writes a model that reads nothing but scores as an ONNX graph, which labels like `model.predict`.

    path: of the file.
    bits: of a number, 64 or 32: the graph takes and gives float64 or float32.
    marginals: whether it gives probabilities too.

    The graph takes each column of scores by its name, [B, T, K], or [B, T, K1, K2] of two variables, and the `lengths`
    [B] of the sentences, of which there is at least one. It gives `labels` [B, T] int64, -1 behind the end and where no
    labelling is possible; `score` [B], Σ log φ of these labels, which `decode marginal` does not have; and with
    `marginals` these, [B, T, K], 0 behind the end and NaN where no labelling is possible, and `log_z` [B]. Of several
    labels these are `labels_NAME` and `marginals_NAME`. Metadata, as JSON: `states` by label, and `scores`, the names
    of what each column scores.

    Raises DcrfError `cannot-export` for a model that reads anything but scores, has latent variables, or is no chain
    of few states; and if the file cannot be written, or the package `onnx` is absent.
    """
    if bits not in (64, 32):
        raise ValueError(f"`bits` is {bits}, expected 64 or 32")
    refuse_unless_exportable(model)
    for message, remedy in _obstacles(model):
        raise data_error("cannot-export", f"the model cannot be an ONNX graph: {message}", help=remedy)
    with needed("onnx", "ONNX graphs are written by the package `onnx`"):
        import onnx.checker
    written = _Graph(model, np.dtype(f"f{bits // 8}")).written(marginals)
    onnx.checker.check_model(written, full_check=True)
    ensure_writable(Path(path))
    write_whole(Path(path), (written.SerializeToString(),))
    return Path(path)


def _obstacles(model: TrainedModel) -> Iterator[tuple[str, str]]:
    """What the graph cannot have, each with a remedy."""
    graph = model.graph
    for template in graph.templates:
        if template.clique >= 0 and len(model.parameters.cliques[template.clique].entry):
            yield f"`clique {template.name}` has features of the data, and a graph reads scores alone", PROGRAM
        terms = template.given.terms if template.given is not None else ()
        for name in {term.column for term in terms} & RESERVED:
            yield f"its column `{name}` is called as another value of the graph is", "give it another name"
        if template.observed or any(term.when for term in terms):
            yield f"`{template.name}` tests the data, and a graph reads scores alone", PROGRAM
        if terms and max(template.offsets) > 0:
            yield f"`{template.name}` scores labels behind its position", "let its last label have no offset"
    if not any(template.given for template in graph.templates):
        yield "it adds no scores, as `offset(logits)` does, and a graph reads nothing else", PROGRAM
    if graph.num_latents:
        yield f"`latent {graph.variables[graph.latents[0]]}` has to be summed out", PROGRAM
    if (entries := math.prod(graph.cards) ** (_order(model) + 1)) > MOST_ENTRIES:
        yield f"a step along a sentence would take a table of {entries:,} numbers", PROGRAM


def _order(model: TrainedModel) -> int:
    return max(1, *(template.span for template in model.graph.templates))


class _Graph:
    """The graph while it is written. Values go by their names; arrays among the inputs of a node become constants.

    order, joint: m and J.   between: J^(m - 1).   states: J^m.   digits: of each variable, its state in each joint
    state, [J].   columns: the states of the variables that each column of scores is for.
    inside: whether a position is in its sentence, [B, T].
    """

    def __init__(self, model: TrainedModel, real: np.dtype[Any]):
        self.model, self.real, self.templates, self.order = model, real, model.graph.templates, _order(model)
        self.joint = math.prod(model.graph.cards)
        self.between, self.states = self.joint ** (self.order - 1), self.joint**self.order
        self.digits = [one.ravel() for one in np.indices(model.graph.cards)]
        self.given = [(template, template.given) for template in self.templates if template.given is not None]
        self.columns = {term.column: given.states for _, given in self.given for term in given.terms}
        self.kinds = {"real": onnx.helper.np_dtype_to_tensor_dtype(real), "whole": onnx.TensorProto.INT64}
        self.kinds["truth"] = onnx.TensorProto.BOOL
        self.constants: list[Any] = []
        self.nodes: list[Any] = []  # of the graph, or of the step that is being written
        self.number = itertools.count()
        count = self.add("Squeeze", self.add("Shape", next(iter(self.columns)), start=1, end=2))
        self.at = self.add("Unsqueeze", self.add("Range", 0, count, 1), [0])
        self.end = self.add("Unsqueeze", LENGTHS, [1])
        self.inside = self.add("Less", self.at, self.end)

    # nodes ------------------------------------------------------------------------------------------------------------

    def add(self, operator: str, *inputs: Value, output: str | None = None, **attributes: Any) -> str:
        """A node with one output, whose name comes back."""
        output = output or f"{operator.lower()}.{next(self.number)}"  # no column has a dot in its name
        names = [one if isinstance(one, str) else self._constant(np.asarray(one)) for one in inputs]
        self.nodes.append(onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def _constant(self, array: NDArray[Any]) -> str:
        name = f"constant.{next(self.number)}"
        array = array.astype(self.real) if array.dtype.kind == "f" else array
        self.constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def typed(self, name: str, kind: str, shape: Sequence[Any] | None = None) -> Any:
        """What is said of an input or output.   kind: real, whole or truth."""
        return onnx.helper.make_tensor_value_info(name, self.kinds[kind], shape)

    def scan(
        self, start: str, over: Mapping[str, str], step: Callable[..., tuple[str, str]], *kinds: str, back: bool = False
    ) -> tuple[str, str]:
        """Takes a step at each position in turn, or from the last one `back`: the last state, and what all steps give.

        over: values of all positions, [B, T, …], with their kinds.   step: makes of the state and the values at a
        position the next state, and what it gives.   kinds: of these two.
        """
        outside, self.nodes, number = self.nodes, [], next(self.number)
        inputs = {f"{name}.in.{number}": of for name, of in {"state": kinds[0], **over}.items()}
        given = [self.typed(name, of) for name, of in zip(step(*inputs), kinds, strict=True)]
        body = onnx.helper.make_graph(self.nodes, f"step.{number}", [self.typed(*one) for one in inputs.items()], given)
        self.nodes, found, count = outside, (f"last.{number}", f"every.{number}"), len(over)
        node = onnx.helper.make_node(
            "Scan", [start, *over], found, body=body, num_scan_inputs=count, scan_input_axes=[1] * count,
            scan_input_directions=[int(back)] * count, scan_output_axes=[1], scan_output_directions=[int(back)],
        )  # fmt: skip
        self.nodes.append(node)
        return found

    def log_sum(self, values: str, axis: int) -> str:
        """log Σ exp along an axis, which is gone then; -inf of nothing but -inf."""
        top = self.add("ReduceMax", values, axes=[axis], keepdims=1)
        top = self.add("Where", self.add("Equal", top, -np.inf), 0.0, top)
        total = self.add("ReduceSum", self.add("Exp", self.add("Sub", values, top)), [axis], keepdims=0)
        return self.add("Add", self.add("Log", total), self.add("Squeeze", top, [axis]))

    # potentials -------------------------------------------------------------------------------------------------------

    def shared(self) -> Floats:
        """W by the positions before and behind the new one, m of more than m, [(m + 1)², J, J^(m - 1), J]."""
        near, tables = range(self.order + 1), kind_tables(self.model)
        every = [self._table(before, behind, tables) for before in near for behind in near]
        return np.array(every).reshape(len(every), self.joint, self.between, self.joint)

    def _table(self, before: int, behind: int, tables: Sequence[Floats]) -> Floats:
        table = np.zeros((self.joint,) * (self.order + 1))
        length = before + 1 + behind
        for number, template in enumerate(self.templates):
            for anchor in () if template.given is not None else template.anchors(length):
                pattern = template.pattern(anchor, length)
                sites = [site for site, outside in enumerate(pattern) if not outside]
                back = [before - anchor - template.offsets[site] for site in sites]
                if sites and min(back) == 0:  # the new position is the last one that it has
                    rule = template.coded  # with a price
                    own = tables[self.model.graph.kind_of(number, pattern)] if rule is None else rule[0].ravel()
                    states = [self.digits[template.variables[site]] for site in sites]
                    table += own[self._cells(back, states, [template.cards[site] for site in sites])]
        return table

    def _cells(self, back: Sequence[int], states: Sequence[Ints], cards: Sequence[int]) -> Ints:
        """The entry of a table for each entry of a step, of a shape that fits [J] * (m + 1).

        back: of each axis of the table, how many positions before the new one.   states: its state in each joint
        state, [J].   cards: its size.
        """
        cells: Ints = np.zeros((1,) * (self.order + 1), np.int64)
        for distance, own, card in zip(back, states, cards, strict=True):
            shape = [1] * (self.order + 1)
            shape[self.order - distance] = self.joint
            cells = cells * card + own.reshape(shape)
        return cells

    def potentials(self, temperature: float = 1.0) -> tuple[dict[str, str], Floats]:
        """What steps are taken over, and all W, multiplied by a temperature: the number of its W [B, T], `inside`, U
        [B, T, J], and what data adds to W, [B, T, J^(m + 1)], if it does.
        """
        add, m = self.add, self.order
        rest = add("Clip", add("Sub", add("Sub", self.end, self.at), 1), 0, m)
        near = add("Add", add("Mul", add("Min", self.at, m), m + 1), rest)
        own, moves = [add("Where", add("Unsqueeze", self.inside, [2]), np.zeros(self.joint), 0.0)], list[str]()
        for template, given in self.given:
            seen = zip(template.seen_states, template.variables, strict=True)
            states = [as_seen[self.digits[variable]] for as_seen, variable in seen]
            cells = self._cells([-offset for offset in template.offsets], states, template.weight_cards)
            shape = (self.joint,) * (m + 1) if template.span else cells.shape
            there = add("And", self.inside, add("GreaterOrEqual", self.at, template.span))
            for term in given.terms:
                flat = add("Reshape", term.column, [0, 0, template.num_assignments])
                scores = add("Mul", add("Where", add("Unsqueeze", there, [2]), flat, 0.0), term.scale * temperature)
                scores = add("Gather", scores, np.broadcast_to(cells, shape).ravel(), axis=2)
                (moves if template.span else own).append(scores)
        over = {near: "whole", self.inside: "truth", add("Sum", *own): "real"}
        return over | ({add("Sum", *moves): "real"} if moves else {}), self.shared() * temperature

    # recursions -------------------------------------------------------------------------------------------------------

    def best(self) -> tuple[str, str]:
        """The score of the best joint states [B], and these states, [B, T]."""
        add, (over, tables) = self.add, self.potentials()

        def step(state: str, near: str, inside: str, own: str, *moves: str) -> tuple[str, str]:
            total = self._moved(tables, near, moves, state, (self.joint, self.between, 1))
            best = add("Add", add("ReduceMax", total, axes=[1], keepdims=0), add("Unsqueeze", own, [1]))
            return self._kept(inside, best, state), self._flat(add("ArgMax", total, axis=1, keepdims=0))

        def back(state: str, left: str, inside: str) -> tuple[str, str]:
            before = add("Squeeze", add("GatherElements", left, add("Unsqueeze", state, [1]), axis=1), [1])
            before = add("Add", add("Mul", before, self.between), add("Div", state, self.joint))
            return add("Where", inside, before, state), add("Mod", state, self.joint)

        last, left = self.scan(self._begin(-np.inf), over, step, "real", "whole")
        end = add("ArgMax", last, axis=1, keepdims=0)
        codes = self.scan(end, {left: "whole", self.inside: "truth"}, back, "whole", "whole", back=True)[1]
        return add("ReduceMax", last, axes=[1], keepdims=0), codes

    def sums(self) -> tuple[str, str]:
        """log Z [B], and the probability of each joint state, [B, T, J]."""
        add, (over, tables) = self.add, self.potentials(self.model.temperature)

        def step(state: str, near: str, inside: str, own: str, *moves: str) -> tuple[str, str]:
            total = self._moved(tables, near, moves, state, (self.joint, self.between, 1))
            kept = self._kept(inside, add("Add", self.log_sum(total, 1), add("Unsqueeze", own, [1])), state)
            return kept, add("Identity", kept)

        def back(state: str, near: str, inside: str, own: str, *moves: str) -> tuple[str, str]:
            total = self._moved(tables, near, moves, state, (1, self.between, self.joint))
            before = self.log_sum(add("Add", total, add("Unsqueeze", own, [1, 2])), 3)
            return self._kept(inside, before, state), add("Identity", state)

        last, alpha = self.scan(self._begin(-np.inf), over, step, "real", "real")
        beta = self.scan(self._begin(0.0), over, back, "real", "real", back=True)[1]
        log_z = self.log_sum(last, 1)
        p = add("Exp", add("Sub", add("Add", alpha, beta), add("Unsqueeze", log_z, [1, 2])))
        return log_z, add("ReduceSum", add("Reshape", p, [0, 0, self.between, self.joint]), [2], keepdims=0)

    def _begin(self, others: float) -> str:
        """Where a recursion begins, [B, J^m]: 0 for the state 0, and a number for all others."""
        row = np.append(0.0, np.full(self.states - 1, others))
        return self.add("Expand", row, self.add("Concat", self.add("Shape", LENGTHS), [1], axis=0))

    def _moved(self, tables: Floats, near: str, moves: Sequence[str], state: str, shape: Sequence[int]) -> str:
        """State + W, [B, J, J^(m - 1), J].   shape: of the state, for these axes."""
        of_data = [self.add("Reshape", one, [0, *tables.shape[1:]]) for one in moves]
        return self.add("Sum", self.add("Reshape", state, [0, *shape]), self.add("Gather", tables, near), *of_data)

    def _kept(self, inside: str, after: str, state: str) -> str:
        """The next state; behind the end of a sentence it stays."""
        return self.add("Where", self.add("Unsqueeze", inside, [1]), self._flat(after), state)

    def _flat(self, values: str) -> str:
        return self.add("Reshape", values, [0, self.states])

    # the whole --------------------------------------------------------------------------------------------------------

    def written(self, marginals: bool) -> Any:
        """The model of ONNX."""
        add, model, by_marginals = self.add, self.model, self.model.decode == "marginal"
        outputs, totals = [], {}
        if marginals or by_marginals:
            totals["log_z"], joint = self.sums()
        if not by_marginals:
            totals["score"], best = self.best()
        is_possible = add("Greater", totals["log_z" if by_marginals else "score"], -np.inf)
        possible = add("And", self.inside, add("Unsqueeze", is_possible, [1]))
        for label, digits in zip(model.labels, self.digits, strict=False):
            suffix, count = f"_{label}" if len(model.labels) > 1 else "", len(model.states[label])
            if marginals or by_marginals:
                p = add("MatMul", joint, np.eye(count)[digits])
                p = add("Where", add("Unsqueeze", self.inside, [2]), p, 0.0, output=f"marginals{suffix}")
            codes = add("ArgMax", p, axis=2, keepdims=0) if by_marginals else add("Gather", digits, best)
            labels = add("Where", possible, codes, -1, output=f"labels{suffix}")
            outputs.append(self.typed(labels, "whole", ["B", "T"]))
            outputs += [self.typed(p, "real", ["B", "T", count])] if marginals else []
        for name in ("score", "log_z") if marginals else ("score",):
            if name in totals:
                outputs.append(self.typed(add("Identity", totals[name], output=name), "real", ["B"]))
        inputs = [self.typed(name, "real", ["B", "T", *map(len, states)]) for name, states in self.columns.items()]
        inputs.append(self.typed(LENGTHS, "whole", ["B"]))
        graph = onnx.helper.make_graph(self.nodes, "chain", inputs, outputs, self.constants, to_text(model.spec))
        made = onnx.helper.make_model(
            graph, producer_name="dcrfdsl", producer_version=__version__, ir_version=IR,
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        )  # fmt: skip
        scored = {name: [" ".join(one) for one in itertools.product(*of)] for name, of in self.columns.items()}
        states = {label: model.states[label] for label in model.labels}
        onnx.helper.set_model_props(made, {"states": json_text(states), "scores": json_text(scored)})
        return made
