"""A template as functions in JAX: values against enumeration, derivatives against finite differences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layer_cases import CHAIN, LENGTHS, STRUCTURES, agreeing, total_scores

import dcrfdsl

jax = pytest.importorskip("jax", minversion="0.7", reason="JAX 0.7 is not installed")
jnp = jax.numpy
TemplateFunctions = pytest.importorskip("dcrfdsl.jax").TemplateFunctions
check_grads = pytest.importorskip("jax.test_util").check_grads


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def functions_of(name: str) -> tuple[Any, Any]:
    functions = TemplateFunctions(dcrfdsl.load_text(STRUCTURES[name][0]))
    return functions, jnp.asarray(np.random.default_rng(1).normal(size=functions.num_weights))


def scores_of(name: str, *, seed: int = 0, impossible: bool = False) -> dict[str, Any]:
    rng, found = np.random.default_rng(seed), {}
    for column, shape in STRUCTURES[name][1].items():
        table = rng.normal(size=(len(LENGTHS), max(LENGTHS), *shape))
        if impossible:
            table[3, 1].reshape(-1)[0] = -np.inf
        found[column] = jnp.asarray(table)
    return found


def tags_of(name: str, *, holes: bool = False) -> dict[str, Any]:
    """The best labels of other scores: they are possible by the template."""
    functions, weights = functions_of(name)
    found = functions.mode(weights, scores_of(name, seed=7), LENGTHS)
    found = found if isinstance(found, dict) else {next(iter(functions.states)): found}
    return {label: codes.at[0, 1].set(-1) if holes else codes for label, codes in found.items()}


def by_hand(functions: Any, weights: Any, scores: dict[str, Any], s: int) -> dict[tuple[int, ...], float]:
    return total_scores(functions.template, np.asarray(weights), {n: np.asarray(t) for n, t in scores.items()}, s)


# values ---------------------------------------------------------------------------------------------------------------


def test_a_sentence_without_a_labelling_has_no_best_labels() -> None:
    functions, weights = functions_of("chain")
    ((column, table),) = scores_of("chain").items()
    usual = functions.mode(weights, {column: table}, LENGTHS)
    s = next(n for n, length in enumerate(LENGTHS) if length > 1)
    found = functions.mode(weights, {column: table.at[s, 1].set(-jnp.inf)}, LENGTHS)
    assert found[s].tolist() == [-1] * max(LENGTHS)
    assert [row for n, row in enumerate(found.tolist()) if n != s] == [
        row for n, row in enumerate(usual.tolist()) if n != s
    ]


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("compiled", [False, True])
def test_values_are_those_of_enumeration(name: str, compiled: bool) -> None:
    functions, weights = functions_of(name)
    make = jax.jit if compiled else lambda one: one
    scores = scores_of(name, impossible=True)
    log_z = make(functions.log_partition)(weights, scores, jnp.array(LENGTHS))
    assert log_z.dtype == jnp.float64 and log_z.shape == (len(LENGTHS),)
    log_p = {}
    for holes in (False, True):
        tags = tags_of(name, holes=holes)
        log_p[holes] = make(functions.log_prob)(weights, scores_of(name), tags, jnp.array(LENGTHS))
    for s in range(len(LENGTHS)):
        totals = by_hand(functions, weights, scores, s)
        assert float(log_z[s]) == pytest.approx(np.logaddexp.reduce(list(totals.values())), abs=1e-10)
        totals = by_hand(functions, weights, scores_of(name), s)
        for holes, found in log_p.items():
            tags = {label: np.asarray(codes) for label, codes in tags_of(name, holes=holes).items()}
            fits = agreeing(functions.template, totals, tags, s)
            expected = np.logaddexp.reduce(fits) - np.logaddexp.reduce(list(totals.values()))
            assert float(found[s]) == pytest.approx(expected, abs=1e-10)


def test_marginals_are_derivatives_of_log_z() -> None:
    functions, weights = functions_of("two layers")
    scores, graph = scores_of("two layers"), functions.template.graph
    found = jax.grad(lambda scores: functions.log_partition(weights, scores, LENGTHS).sum())(scores)
    for s, length in enumerate(LENGTHS):
        totals = by_hand(functions, weights, scores, s)
        p = np.exp(np.array([*totals.values()]) - np.logaddexp.reduce([*totals.values()]))
        wanted = {name: np.zeros(table.shape[1:]) for name, table in scores.items()}
        for states, mass in zip(totals, p, strict=True):
            for t in range(length):
                y, z = states[t * len(graph.cards) : (t + 1) * len(graph.cards)]
                for name, place in {"a": (y,), "b": (z,), "c": (y, z)}.items():
                    wanted[name][(t, *place)] += mass
        for name, table in wanted.items():
            np.testing.assert_allclose(found[name][s], table, atol=1e-10)


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_best_labels_are_those_of_enumeration(name: str) -> None:
    functions, weights = functions_of(name)
    scores, variables = scores_of(name), functions.template.graph.variables
    model = functions.model(weights)
    found = jax.jit(functions.mode)(weights, scores, jnp.array(LENGTHS))
    found = found if isinstance(found, dict) else {functions.template.labels[0]: found}
    for s, length in enumerate(LENGTHS):
        if length:
            rows = {column: list(np.asarray(table[s, :length])) for column, table in scores.items()}
            labels = model.tag(rows)
            labels = labels if isinstance(labels, dict) else {functions.template.labels[0]: labels}
        for label, codes in found.items():
            assert (codes[s, length:] == -1).all()
            if length:
                assert [functions.states[label][code] for code in codes[s, :length]] == labels[label]
        if variables == functions.template.labels:  # else the best labels are not those of the best labelling
            totals = by_hand(functions, weights, scores, s)
            best = max(totals, key=lambda states: totals[states])
            codes = np.stack([found[label][s, :length] for label in variables], axis=-1)
            assert tuple(codes.ravel().tolist()) == best


# derivatives ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("known", ["nothing", "all", "some"])
def test_first_and_second_derivatives(name: str, known: str) -> None:
    functions, weights = functions_of(name)
    scores, tags = scores_of(name), tags_of(name, holes=known == "some")

    @jax.jit
    def call(weights: Any, scores: Any) -> Any:
        if known == "nothing":
            return functions.log_partition(weights, scores, jnp.array(LENGTHS))
        return functions.log_prob(weights, scores, tags, jnp.array(LENGTHS))

    check_grads(call, (weights, scores), order=2, modes=["rev"], atol=1e-5, rtol=1e-5)
    check_grads(lambda *given: call(*given).mean(), (weights, scores), order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


def test_derivatives_where_scores_are_impossible() -> None:
    functions, weights = functions_of("chain")
    impossible, possible = scores_of("chain", impossible=True)["logits"], scores_of("chain")["logits"]

    def total(scores: Any) -> Any:
        return functions.log_partition(weights, scores, LENGTHS).sum()

    first = jax.grad(total)(impossible)
    assert first[3, 1, 0] == 0.0 and bool(jnp.isfinite(first).all())
    np.testing.assert_allclose(first, jax.grad(total)(possible.at[3, 1, 0].set(-1e4)), atol=1e-10)


def test_a_third_derivative_is_refused() -> None:
    functions, weights = functions_of("chain")
    scores = scores_of("chain")["logits"]

    def summed(function: Any) -> Any:
        return lambda weights: (jax.grad(function)(weights) ** 2).sum()

    third = jax.grad(summed(summed(lambda weights: functions.log_partition(weights, scores, LENGTHS).sum())))
    with pytest.raises(NotImplementedError, match="no third derivative"):
        third(weights)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_types(dtype: str) -> None:
    functions, weights = functions_of("chain")
    scores = scores_of("chain")["logits"].astype(dtype)
    found = jax.jit(functions.log_partition)(weights.astype("float32"), scores, jnp.array(LENGTHS))
    wide = functions.log_partition(weights.astype("float32").astype("float64"), scores.astype("float64"), LENGTHS)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, wide, rtol=1e-6)
    tags = tags_of("chain")["tag"]

    def loss(weights: Any, scores: Any) -> Any:
        return -functions.log_prob(weights, scores, tags, LENGTHS).mean()

    derivatives = jax.jit(jax.grad(loss, (0, 1)))(weights.astype("float32"), scores)
    assert [one.dtype for one in derivatives] == [jnp.float32, jnp.dtype(dtype)]
    expected = jax.grad(loss, (0, 1))(weights, scores.astype("float64"))
    for one, other in zip(derivatives, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one, np.float64), other, atol=1e-6 if dtype == "float32" else 4e-3)


def test_vmap_and_loops_of_compiled_programs() -> None:
    functions, weights = functions_of("chain")
    scores, tags = scores_of("chain")["logits"], tags_of("chain")["tag"].at[:, 0].set(0)
    lengths = jnp.array(LENGTHS)

    def of_one(scores: Any, tags: Any, length: Any) -> Any:
        return functions.log_prob(weights, scores[None], tags[None], length[None])[0]

    expected = functions.log_prob(weights, scores, tags, lengths)
    np.testing.assert_allclose(jax.vmap(of_one)(scores, tags, lengths), expected)
    np.testing.assert_allclose(jax.lax.map(lambda one: of_one(*one), (scores, tags, lengths)), expected)
    derivative = jax.jit(jax.vmap(jax.grad(of_one)))(scores, tags, lengths)
    whole = jax.grad(lambda scores: functions.log_prob(weights, scores, tags, lengths).sum())(scores)
    np.testing.assert_allclose(derivative, whole, atol=1e-12)
    curved = jax.jacrev(jax.grad(lambda weights: functions.log_partition(weights, scores, lengths).sum()))(weights)
    np.testing.assert_allclose(curved, curved.T, atol=1e-9)


def test_shards() -> None:
    functions, weights = functions_of("chain")
    scores, lengths = scores_of("chain")["logits"], jnp.array(LENGTHS)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))
    none, batch = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("batch")

    def total(check: bool) -> Any:
        given = {"mesh": mesh, "in_specs": (none, batch, batch), "out_specs": batch, "check_vma": check}
        mapped = jax.shard_map(functions.log_partition, **given)
        return jax.jit(jax.grad(lambda weights: mapped(weights, scores, lengths).sum()))(weights)

    whole = jax.grad(lambda weights: functions.log_partition(weights, scores, lengths).sum())(weights)
    np.testing.assert_allclose(total(False), whole, atol=1e-12)
    with pytest.raises((NotImplementedError, ValueError)):
        total(True)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not let a program choose its cores")
def test_compiled_programs_end_on_one_core() -> None:
    text = CHAIN.replace("{A, B, C}", "{" + ", ".join(f"S{n}" for n in range(22)) + "}")
    program = f"""
import os
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
import jax, dcrfdsl
from dcrfdsl.jax import TemplateFunctions
functions = TemplateFunctions(dcrfdsl.load_text({text!r}))
scores, tags = jax.numpy.zeros((32, 128, 22)), jax.numpy.ones((32, 128), int)
value = jax.value_and_grad(lambda weights, scores: functions.log_prob(weights, scores, tags).mean(), (0, 1))
print(float(jax.jit(value)(functions.initial_weights(), scores)[0]))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert float(run.stdout) == pytest.approx(-128 * np.log(22))


# training -------------------------------------------------------------------------------------------------------------


def test_a_net_learns_and_its_model_needs_no_jax(tmp_path: Path) -> None:
    functions = TemplateFunctions(dcrfdsl.load_text(CHAIN), states=["A", "B", "C"])
    x = jnp.asarray(np.random.default_rng(0).normal(size=(16, 7, 4)))
    tags = x[..., :3].argmax(-1)

    def loss(parameters: Any) -> Any:
        return -functions.log_prob(parameters["moves"], x @ parameters["net"], tags).mean()

    parameters = {"net": jnp.zeros((4, 3)), "moves": functions.initial_weights()}
    step = jax.jit(jax.value_and_grad(loss))
    losses = []
    for _ in range(30):
        value, derivative = step(parameters)
        parameters = jax.tree.map(lambda one, slope: one - 0.3 * slope, parameters, derivative)
        losses.append(float(value))
    assert losses[0] == pytest.approx(7 * np.log(3)) and losses[-1] < 0.5 * losses[0]
    scores = x @ parameters["net"]
    best = functions.mode(parameters["moves"], scores)
    assert float((best == tags).mean()) > 0.9
    functions.to_model(parameters["moves"], tmp_path / "tags.model")
    np.save(tmp_path / "scores.npy", np.asarray(scores))
    program = f"""
import sys, json, numpy as np, dcrfdsl
sys.modules["jax"] = None
model = dcrfdsl.load({str(tmp_path / "tags.model")!r})
print(json.dumps([model.tag({{"logits": list(one)}}) for one in np.load({str(tmp_path / "scores.npy")!r})]))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == [["ABC"[code] for code in row] for row in best.tolist()]


# what comes in --------------------------------------------------------------------------------------------------------

ZEROS = np.zeros((4, 4), np.int64)
# name -> a call of functions, weights and scores that is wrong, and its message
WRONG = {
    "NaN": (lambda f, w, t: f.log_partition(w, t.at[1, 0, 2].set(jnp.nan), LENGTHS), "score nan in sentence 1"),
    "+inf": (lambda f, w, t: f.log_partition(w, t.at[3, 1, 0].set(jnp.inf), LENGTHS), "score inf in sentence 3"),
    "NaN as a weight": (lambda f, w, t: f.log_partition(w.at[2].set(jnp.nan), t, LENGTHS), "weight 2 .* is nan"),
    "NaN to decode": (lambda f, w, t: f.mode(w, t.at[1, 0, 2].set(jnp.nan), LENGTHS), "score nan in sentence 1"),
    "wrong K": (lambda f, w, t: f.log_partition(w, t[..., :2]), r"expected \[B, T, 3\]: one for each state of `tag`"),
    "one sentence": (lambda f, w, t: f.log_partition(w, t[0]), r"shape \(4, 3\), expected \[B, T, 3\]"),
    "whole scores": (lambda f, w, t: f.log_partition(w, t.astype(int)), "scores of `logits` are floats, found int64"),
    "other weights": (lambda f, w, t: f.log_partition(w[:3], t), r"`weights` have the shape \(3,\), expected \(9,\)"),
    "lengths over T": (lambda f, w, t: f.log_partition(w, t, jnp.array([3, 1, 0, 5])), "from 0 to T = 4; found 5"),
    "negative lengths": (lambda f, w, t: f.log_partition(w, t, [3, -1, 0, 4]), "from 0 to T = 4; found -1"),
    "other lengths": (lambda f, w, t: f.log_partition(w, t, [3, 1]), "4 whole numbers"),
    "lengths as floats": (lambda f, w, t: f.log_partition(w, t, jnp.ones(4)), "`lengths` are whole numbers"),
    "another column": (lambda f, w, t: f.log_partition(w, {"logit": t}), "expected logits"),
    "codes as floats": (lambda f, w, t: f.log_prob(w, t, jnp.zeros((4, 4))), "codes of `tag` are whole numbers"),
    "codes of another shape": (lambda f, w, t: f.log_prob(w, t, ZEROS[:, :3]), r"shape \(4, 3\), expected \(4, 4\)"),
    "codes beyond": (lambda f, w, t: f.log_prob(w, t, ZEROS + 3), "codes 0 to 2, and -1 for unknown: found 3"),
    "another label": (lambda f, w, t: f.log_prob(w, t, {"tags": ZEROS}), "'tags', which is no label"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("compiled", [False, True])
def test_wrong_input_is_one_error(case: str, compiled: bool) -> None:
    call, message = WRONG[case]
    functions, weights = functions_of("chain")

    def run(weights: Any, scores: Any) -> Any:
        return call(functions, weights, scores)

    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=message) as caught:
        jax.block_until_ready((jax.jit(run) if compiled else run)(weights, scores_of("chain")["logits"]))
    assert compiled or type(caught.value) is ValueError
    assert "ValueError: " in f"ValueError: {caught.value}".splitlines()[-1]


def test_impossible_labels_are_an_error() -> None:
    functions, weights = functions_of("forbidden moves")
    tags = jnp.array([[0, 2, 0, 0]] * 4)
    for given in (tags, tags.at[0, 2].set(-1)):
        with pytest.raises(ValueError, match=r"labels of sentence 0 .* impossible"):
            functions.log_prob(weights, scores_of("forbidden moves"), given, LENGTHS)


def test_padding_may_hold_anything() -> None:
    functions, weights = functions_of("chain")
    scores, tags = scores_of("chain")["logits"], tags_of("chain")["tag"]
    padding = jnp.arange(4)[None, :] >= jnp.array(LENGTHS)[:, None]
    spoilt = jnp.where(padding[..., None], jnp.nan, scores), jnp.where(padding, 99, tags)

    def value(scores: Any, tags: Any) -> Any:
        return functions.log_prob(weights, scores, tags, LENGTHS).sum()

    assert float(value(*spoilt)) == pytest.approx(float(value(scores, tags)))
    np.testing.assert_allclose(jax.grad(value)(*spoilt), jax.grad(value)(scores, tags))


def test_states_in_another_order_are_an_error() -> None:
    with pytest.raises(ValueError, match="in another order: 0 is 'B' for you, and 'A' in the template"):
        TemplateFunctions(dcrfdsl.load_text(CHAIN), states=["B", "A", "C"])


def test_a_template_that_reads_other_data_is_refused() -> None:
    text = CHAIN.replace("data jsonl(", "data jsonl(word, ").replace("offset(logits)", "offset(logits), word")
    with pytest.raises(dcrfdsl.DcrfError, match="has features of data"):
        TemplateFunctions(dcrfdsl.load_text(text))
    text = CHAIN.replace("offset(logits)", "bias")
    with pytest.raises(dcrfdsl.DcrfError, match=r"no `offset\(COLUMN\)`"):
        TemplateFunctions(dcrfdsl.load_text(text))
