"""A template as a layer in PyTorch: values and derivatives against enumeration, pytorch-crf and finite differences."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from layer_cases import CHAIN, LENGTHS, STRUCTURES, agreeing, total_scores as scores_by_hand
from template_cases import Case
from training_cases import objective_of

import dcrfdsl
from dcrfdsl.cli import run as run_command

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
layers = pytest.importorskip("dcrfdsl.torch")
F64 = torch.float64


def layer_of(name: str) -> layers.Layer:
    layer = layers.Layer(dcrfdsl.load_text(STRUCTURES[name][0])).double()
    torch.manual_seed(1)
    with torch.no_grad():
        layer.weights.normal_()
    return layer


def scores_of(name: str, *, seed: int = 0, impossible: bool = False) -> dict[str, torch.Tensor]:
    torch.manual_seed(seed)
    given = {}
    for column, shape in STRUCTURES[name][1].items():
        table = torch.randn(len(LENGTHS), max(LENGTHS), *shape, dtype=F64)
        if impossible:
            table[3, 1].view(-1)[0] = -torch.inf
        given[column] = table.requires_grad_()
    return given


def tags_of(layer: layers.Layer, *, holes: bool = False) -> dict[str, torch.Tensor]:
    """The second-best labels of random scores: they are possible by the template."""
    torch.manual_seed(7)
    found = layer({n: torch.randn_like(t) for n, t in some_scores(layer).items()}, LENGTHS).mode
    found = found if isinstance(found, dict) else {next(iter(layer.states)): found}
    if holes:
        for codes in found.values():
            codes[0, 1] = -1
    return found


def some_scores(layer: layers.Layer) -> dict[str, torch.Tensor]:
    shapes = {name: one.shape for name, one in layer.template.inputs.items()}
    return {n: torch.zeros(len(LENGTHS), max(LENGTHS), *shape, dtype=F64) for n, shape in shapes.items()}


def total_scores(layer: layers.Layer, scores: dict[str, torch.Tensor], s: int) -> dict[tuple[int, ...], float]:
    given = {name: table.detach().numpy() for name, table in scores.items()}
    return scores_by_hand(layer.template, layer.weights.detach().numpy(), given, s)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("impossible", [False, True])
def test_values_are_those_of_enumeration(name: str, impossible: bool) -> None:
    layer, scores = layer_of(name), scores_of(name, impossible=impossible)
    d = layer(scores, LENGTHS)
    graph = layer.template.graph
    entropy, log_partition = d.entropy().detach(), d.log_partition.detach()
    other = layer({n: t.detach() * 0.5 + 1.0 for n, t in scores.items()}, LENGTHS)
    # where p is not 0 q is not either: scores of -inf stay so
    kl = d.kl(other).detach()
    for s, length in enumerate(LENGTHS):
        totals = total_scores(layer, scores, s)
        values = np.array(list(totals.values()))
        log_z = np.logaddexp.reduce(values)
        assert float(log_partition[s]) == pytest.approx(log_z, abs=1e-10)
        p = np.exp(values - log_z)
        assert float(entropy[s]) == pytest.approx(-(p * (values - log_z)).sum(), abs=1e-9)
        halved = total_scores(layer, {n: t.detach() * 0.5 + 1.0 for n, t in scores.items()}, s)
        by = np.array([halved[one] for one in totals])
        expected = (p * ((values - log_z) - (by - np.logaddexp.reduce(list(halved.values()))))).sum()
        assert float(kl[s]) == pytest.approx(expected, abs=1e-9)
        for m, variable in enumerate(graph.variables):
            found = d.marginals[variable][s].detach().numpy()
            wanted = np.zeros_like(found)
            for states, mass in zip(totals, p, strict=True):
                for t in range(length):
                    wanted[t, states[t * len(graph.cards) + m]] += mass
            np.testing.assert_allclose(found, wanted, atol=1e-10)
        labels = range(graph.num_labels)
        summed: dict[tuple[int, ...], float] = {}
        for states, mass in zip(totals, p, strict=True):
            key = tuple(states[t * len(graph.cards) + m] for t in range(length) for m in labels)
            summed[key] = summed.get(key, 0.0) + mass
        ranked = [*sorted(summed.values(), reverse=True), 0.0, 0.0, 0.0]
        np.testing.assert_allclose(np.exp(d.topk(3)[1][:, s].numpy()), ranked[:3], atol=1e-9)


def test_a_sentence_without_a_labelling_has_no_best_labels() -> None:
    layer = layer_of("chain")
    (column, table), *_ = scores_of("chain").items()
    usual = layer({column: table.detach()}, LENGTHS).mode
    s = next(n for n, length in enumerate(LENGTHS) if length > 1)
    table = table.detach().clone()
    table[s, 1] = -torch.inf
    d = layer({column: table}, LENGTHS)
    assert d.mode[s].tolist() == d.sample()[0, s].tolist() == [-1] * max(LENGTHS)
    kept = [n for n in range(len(LENGTHS)) if n != s]
    assert torch.equal(d.mode[kept], usual[kept])


@pytest.mark.parametrize("name", STRUCTURES)
def test_log_prob_sums_out_what_is_not_known(name: str) -> None:
    layer, scores = layer_of(name), scores_of(name)
    d = layer(scores, LENGTHS)
    for holes in (False, True):
        tags = tags_of(layer, holes=holes)
        found = d.log_prob(tags).detach()
        for s in range(len(LENGTHS)):
            totals = total_scores(layer, scores, s)
            fits = agreeing(layer.template, totals, {label: one.numpy() for label, one in tags.items()}, s)
            expected = np.logaddexp.reduce(fits) - np.logaddexp.reduce(list(totals.values()))
            assert float(found[s]) == pytest.approx(expected, abs=1e-10)


def of_tensors(layer: layers.Layer, names: list[str], use: str):  # type: ignore[no-untyped-def]
    tags = tags_of(layer)

    def call(weights, *tables):  # type: ignore[no-untyped-def]
        d = torch.func.functional_call(layer, {"weights": weights}, (dict(zip(names, tables, strict=True)), LENGTHS))
        if use == "entropy":
            return d.entropy()
        if use == "marginals":
            return tuple(d.marginals.values())
        return d.log_prob(tags)

    return call


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("use", ["log_prob", "entropy", "marginals"])
def test_first_derivatives(name: str, use: str) -> None:
    layer, scores = layer_of(name), scores_of(name)
    inputs = (layer.weights.detach().clone().requires_grad_(), *scores.values())
    assert torch.autograd.gradcheck(of_tensors(layer, list(scores), use), inputs)


@pytest.mark.parametrize("name", STRUCTURES)
def test_second_derivatives(name: str) -> None:
    layer, scores = layer_of(name), scores_of(name)
    inputs = (layer.weights.detach().clone().requires_grad_(), *scores.values())
    assert torch.autograd.gradgradcheck(of_tensors(layer, list(scores), "log_prob"), inputs)


CRITERIA = (
    "likelihood", "likelihood(cost = hamming(tag, scale = 2))", "perceptron", "hmsvm(loss = hamming(tag))", "marginal",
    "mce", "exponential(weight = 0.4)",
)  # fmt: skip


@pytest.mark.parametrize("criterion", CRITERIA)
def test_criteria_of_the_language_as_losses(criterion: str) -> None:
    layer, scores = layer_of("chain"), scores_of("chain")["logits"]
    tags = tags_of(layer)["tag"]

    def loss(table, weights):  # type: ignore[no-untyped-def]
        return torch.func.functional_call(layer, {"weights": weights}, (table, LENGTHS)).loss(tags, criterion)

    assert torch.autograd.gradcheck(loss, (scores, layer.weights.detach().clone().requires_grad_()))
    if criterion == "likelihood":
        by_hand = -float(layer(scores, LENGTHS).log_prob(tags).detach().sum())
        assert float(loss(scores, layer.weights).detach()) == pytest.approx(by_hand)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_losses_are_those_of_the_engine_on_scores_of_a_file(criterion: str) -> None:
    layer, scores = layer_of("chain"), scores_of("chain")["logits"]
    tags, states = tags_of(layer)["tag"], layer.states["tag"]
    rows = [
        {"logits": scores[s, :length].tolist(), "tag": [states[code] for code in tags[s, :length].tolist()]}
        for s, length in enumerate(LENGTHS)
    ]
    case, (name, _, settings) = Case(f"{CHAIN}infer exact\n", rows), criterion.partition("(")
    extra = [f"train.{one.replace(' ', '')}" for one in [settings.removesuffix(")")] if one]
    none = [] if name in ("perceptron", "hmsvm") else ["train.prior=none"]
    weights = layer.weights.detach().numpy()
    expected = objective_of(case, name, *extra, *none).value_and_gradient(weights)[0]
    if name == "hmsvm":  # whose penalty is a part of its value
        expected -= 0.5 * float(weights @ weights)
    assert float(layer(scores, LENGTHS).loss(tags, criterion).detach()) == pytest.approx(expected)


@pytest.mark.parametrize("use", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_layer_that_was_used_can_be_copied(use) -> None:  # type: ignore[no-untyped-def]
    layer, scores = layer_of("chain"), scores_of("chain")["logits"].detach()
    expected = layer(scores, LENGTHS).log_partition
    assert torch.equal(use(layer)(scores, LENGTHS).log_partition, expected)


def test_a_layer_begins_with_the_weights_of_a_model(tmp_path: Path) -> None:
    layer, scores = layer_of("chain"), scores_of("chain")["logits"].detach()
    layer.to_model(tmp_path / "tags.model")
    again = layers.Layer(dcrfdsl.load(tmp_path / "tags.model")).double()
    assert torch.allclose(again(scores, LENGTHS).log_partition, layer(scores, LENGTHS).log_partition, atol=1e-5)


def test_states_as_id2label() -> None:
    layers.Layer(dcrfdsl.load_text(CHAIN), states={0: "A", 1: "B", 2: "C"})
    with pytest.raises(ValueError, match="in another order"):
        layers.Layer(dcrfdsl.load_text(CHAIN), states={0: "B", 1: "A", 2: "C"})


def test_labels_in_place_of_lengths() -> None:
    layer, scores = layer_of("chain"), scores_of("chain")["logits"]
    with pytest.raises(ValueError, match="labels to `log_prob`"):
        layer(scores, tags_of(layer)["tag"])
    with pytest.raises(ValueError, match="are a tensor, found list"):
        layer(scores, LENGTHS).log_prob(tags_of(layer)["tag"].tolist())


@pytest.mark.parametrize("criterion", ["adaboost", "hmm", "rescale", "memm", "piecewise", "pseudolikelihood", "pwpl"])
def test_what_is_no_loss(criterion: str) -> None:
    layer, scores = layer_of("chain"), scores_of("chain")
    with pytest.raises(dcrfdsl.DcrfError, match="layer has no such loss"):
        layer(scores, LENGTHS).loss(tags_of(layer), criterion)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_values_and_derivatives_are_those_of_pytorch_crf(dtype: torch.dtype, tolerance: float) -> None:
    peer = pytest.importorskip("torchcrf", reason="pytorch-crf is not installed")
    torch.manual_seed(3)
    layer = layers.Layer(dcrfdsl.load_text(CHAIN)).to(dtype)
    crf = peer.CRF(3, batch_first=True).to(dtype)
    for _ in range(500):
        with torch.no_grad():
            layer.weights.normal_()
            crf.start_transitions.zero_(), crf.end_transitions.zero_()
            crf.transitions.copy_(layer.weights.reshape(3, 3))
        batch, time = int(torch.randint(1, 6, ())), int(torch.randint(1, 9, ()))
        scores = torch.randn(batch, time, 3, dtype=dtype, requires_grad=True)
        mask = torch.rand(batch, time) < 0.7  # with holes
        mask[:, 0] = True  # which pytorch-crf asks for
        tags = torch.randint(0, 3, (batch, time))
        d = layer(scores, mask=mask)
        ours, theirs = d.log_prob(tags), crf(scores, tags, mask=mask, reduction="none")
        if bool((mask[:, 1:] <= mask[:, :-1]).all()):  # with holes pytorch-crf scores other moves for the labels
            torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)
            assert [[code for code in row if code >= 0] for row in d.mode.tolist()] == crf.decode(scores, mask)
            of_ours = torch.autograd.grad(ours.sum(), [scores, layer.weights])
            of_theirs = torch.autograd.grad(theirs.sum() + 0.0 * crf.transitions.sum(), [scores, crf.transitions])
            torch.testing.assert_close(of_ours[0], of_theirs[0], atol=10 * tolerance, rtol=tolerance)
            torch.testing.assert_close(of_ours[1], of_theirs[1].flatten(), atol=10 * tolerance, rtol=tolerance)


def test_moves_beyond_the_ends_are_those_of_pytorch_crf() -> None:
    peer = pytest.importorskip("torchcrf", reason="pytorch-crf is not installed")
    layer = layers.Layer(dcrfdsl.load_text(CHAIN.replace("tag[-1], tag", "tag[-1], tag with edges = pad"))).double()
    crf = peer.CRF(3, batch_first=True).double()
    with torch.no_grad():
        layer.weights.normal_()
        for (_, one, other), weight in zip(layer.weight_names, layer.weights, strict=True):
            if one == "START":
                crf.start_transitions["ABC".index(other)] = weight
            elif other == "STOP":
                crf.end_transitions["ABC".index(one)] = weight
            else:
                crf.transitions["ABC".index(one), "ABC".index(other)] = weight
    scores, tags = torch.randn(4, 6, 3, dtype=F64), torch.randint(0, 3, (4, 6))
    lengths = torch.tensor([6, 1, 4, 5])
    mask = torch.arange(6) < lengths[:, None]
    ours, theirs = layer(scores, lengths).log_prob(tags), crf(scores, tags, mask=mask, reduction="none")
    torch.testing.assert_close(ours, theirs)


def test_samples_have_the_frequencies_of_the_distribution() -> None:
    layer, scores = layer_of("two layers"), scores_of("two layers")
    d = layer(scores, LENGTHS)
    drawn = d.sample(4000, seed=5)
    for label, codes in drawn.items():
        for s, length in enumerate(LENGTHS):
            for t in range(length):
                shares = torch.bincount(codes[:, s, t], minlength=len(layer.states[label])) / 4000
                torch.testing.assert_close(shares.double(), d.marginals[label][s, t].detach(), atol=0.04, rtol=0.0)
    assert torch.equal(d.sample(2, seed=5)["y"], d.sample(2, seed=5)["y"])


def test_clique_marginals_are_derivatives_of_log_z() -> None:
    layer, scores = layer_of("two layers"), scores_of("two layers")
    d = layer(scores, LENGTHS)
    derivatives = torch.autograd.grad(d.log_partition.sum(), list(scores.values()))
    for derivative, found in zip(derivatives, d.clique_marginals.values(), strict=True):
        torch.testing.assert_close(found, derivative)
    torch.testing.assert_close(d.clique_marginals["c"].sum(-1), d.marginals["y"])


def test_marginals_need_no_gradients() -> None:
    layer, scores = layer_of("two layers"), scores_of("two layers")
    d = layer(scores, LENGTHS)
    with torch.inference_mode():
        other = layer(scores, LENGTHS)
        assert not other.marginals["y"].requires_grad and not other.clique_marginals["c"].requires_grad
    torch.testing.assert_close(other.marginals, {name: one.detach() for name, one in d.marginals.items()})
    torch.testing.assert_close(other.clique_marginals, {name: one.detach() for name, one in d.clique_marginals.items()})


def test_the_probability_of_an_event() -> None:
    layer, scores = layer_of("chain"), scores_of("chain")
    d = layer(scores["logits"][:2], LENGTHS[:2])
    torch.testing.assert_close(d.event_probability("tag[1] is B"), d.marginals["tag"][:, 0, 1].detach())


def test_an_event_beyond_the_end_of_a_sentence_has_no_probability() -> None:
    layer, scores = layer_of("chain"), scores_of("chain")  # LENGTHS are 3, 1, 0, 4
    d, nan = layer(scores, LENGTHS), float("nan")
    at_two = torch.where(torch.tensor(LENGTHS) < 2, nan, d.marginals["tag"][:, 1, 1].detach())
    for event in ("tag[2] is B", "not tag[2] in {A, C} or tag[1] is A and tag[1] is B"):
        torch.testing.assert_close(d.event_probability(event), at_two, equal_nan=True)
    assert d.event_probability("predicted or tag[9] is B").isnan().all() and d.event_probability("predicted")[2] == 1.0


def test_best_labels_after_a_step_are_those_of_a_new_layer() -> None:
    layer, scores = layer_of("two layers"), scores_of("two layers")
    for step in range(6):
        with torch.no_grad():
            layer.weights.normal_()
        new = layers.Layer(layer.template.resolved).double()
        new.load_state_dict(layer.state_dict())
        d, other = layer(scores, LENGTHS), new(scores, LENGTHS)
        assert all(torch.equal(d.mode[name], other.mode[name]) for name in ("y", "z"))
        torch.testing.assert_close(d.topk(2), other.topk(2))
        (binder, *_) = d._model.structure._binders.values()
        assert len(binder._potentials) <= 4, step  # of weights that are no more nothing is kept


# training -------------------------------------------------------------------------------------------------------------


def test_a_trained_layer_is_a_model_that_needs_no_torch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layer, scores = layer_of("two layers"), scores_of("two layers")
    layer.to_model(tmp_path / "tags.model")
    assert run_command(["show", str(tmp_path / "tags.model")]) == 0
    assert f"{layer.template.num_weights} weights; weights of a layer in a network" in capsys.readouterr().err
    d = layer(scores, LENGTHS)
    np.savez(tmp_path / "scores.npz", **{n: t.detach().numpy() for n, t in scores.items()})
    program = f"""
import sys, numpy as np, dcrfdsl
sys.modules["torch"] = None
model = dcrfdsl.load({str(tmp_path / "tags.model")!r})
scores = np.load({str(tmp_path / "scores.npz")!r})
for s, length in enumerate({LENGTHS}):
    if length:
        rows = {{name: list(scores[name][s, :length]) for name in scores}}
        print(model.tag(rows), model.marginals(rows)["z"][-1])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    for line, s in zip(lines, [s for s, length in enumerate(LENGTHS) if length], strict=True):
        last = LENGTHS[s] - 1
        for label in ("y", "z"):
            names = [layer.states[label][code] for code in d.mode[label][s, : last + 1].tolist()]
            assert f"{label!r}: {names!r}" in line
        for state, value in zip(layer.states["z"], d.marginals["z"][s, last].tolist(), strict=True):
            assert f"{state!r}: {value:.8f}"[:-2] in line.replace("np.float64(", "")


def test_torch_and_fit_reach_the_same_optimum() -> None:
    torch.manual_seed(2)
    text = (
        CHAIN + "infer exact\ntrain likelihood: prior = gaussian(variance = 1), optimizer = lbfgs(tolerance = 1e-9)\n"
    )
    resolved = dcrfdsl.load_text(text)
    scores, tags = torch.randn(30, 6, 3, dtype=F64), torch.randint(0, 3, (30, 6))
    layer = layers.Layer(resolved).double()
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=200, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -layer(scores).log_prob(tags).sum() + 0.5 * (layer.weights**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    names = layer.states["tag"]
    rows = [
        {"logits": scores[s].numpy(), "tag": [names[code] for code in tags[s].tolist()]} for s in range(len(scores))
    ]
    model = dcrfdsl.fit(resolved, dcrfdsl.corpus_from_rows(rows, resolved.require().data))
    clique, _, assignment = model.parameters.origins()
    assert (
        len(model.weights) == len(layer.weights) and clique.tolist() == [1] * 9 and assignment.tolist() == [*range(9)]
    )
    np.testing.assert_allclose(model.weights, layer.weights.detach().numpy(), atol=1e-5)


def test_a_net_learns_through_the_layer() -> None:
    torch.manual_seed(0)
    layer = layers.Layer(dcrfdsl.load_text(CHAIN))
    net = torch.nn.Linear(4, 3)
    x = torch.randn(16, 7, 4)
    tags = x[..., :3].argmax(-1)
    optimizer = torch.optim.Adam(layer.parameter_groups(net, lr=0.1, moves=0.01))
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = -layer(net(x)).log_prob(tags).mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
    assert float((layer(net(x)).mode == tags).double().mean()) > 0.9


# saved weights, and what other libraries have -------------------------------------------------------------------------


def test_weights_have_names() -> None:
    layer = layers.Layer(dcrfdsl.load_text(CHAIN.replace("clique tag[-1], tag", "clique tag[-1], tag as moves")))
    with torch.no_grad():
        layer.weights[layer.weight_names.index(("moves", "C", "A"))] = 2.0
    assert {row[:3]: row[3] for row in layer.model().explanations.iter_weights()}["moves", "bias", ("C", "A")] == 2.0


OTHERS = {
    "another order": ("{A, B, C}", "{B, A, C}", "for `tag` with A, B, C, and the template has B, A, C"),
    "more states": ("{A, B, C}", "{A, B, C, D}", "the template has A, B, C, D"),
    "another clique": (
        "clique tag[-1], tag",
        "clique tag[-1], tag as jumps",
        r"9 of `tag\[-1\], tag`, and .* 9 of `jumps`",
    ),
    "another label": ("tag", "kind", "for `kind` with no states"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_saved_weights_of_another_template_are_refused(case: str, tmp_path: Path) -> None:
    before, after, message = OTHERS[case]
    torch.save({"net": layer_of("chain").state_dict()}, tmp_path / "net.pt")
    saved = torch.load(tmp_path / "net.pt", weights_only=True)["net"]
    again = layers.Layer(dcrfdsl.load_text(CHAIN)).double()
    again.load_state_dict(saved)
    assert torch.equal(again.weights, layer_of("chain").weights)
    with pytest.raises(ValueError, match=message):
        layers.Layer(dcrfdsl.load_text(CHAIN.replace(before, after))).load_state_dict(saved)


HABITS = {
    "decode": (lambda layer, t: layer.decode(t), "mode"),
    "viterbi_tags": (lambda layer, t: layer.viterbi_tags(t), "mode"),
    "transitions": (lambda layer, t: layer.transitions, "weight_names"),
    "reduction": (lambda layer, t: layer(t, reduction="mean"), "no `reduction`: .*`.mean\\(\\)`"),
    "labels to the layer": (lambda layer, t: layer(t, t.argmax(-1), t[..., 0] > -99), "labels go to `log_prob`"),
    "a distribution as a loss": (lambda layer, t: layer(t).backward(), "log_prob"),
    "its negation": (lambda layer, t: -layer(t), "log_prob"),
    "argmax": (lambda layer, t: layer(t).argmax, "`d.mode`"),
    "a mistake": (lambda layer, t: layer.forwards(t), "'Layer' object has no attribute 'forwards'"),
    "one of a distribution": (lambda layer, t: layer(t).modes, "has no attribute 'modes'"),
}


@pytest.mark.parametrize("case", HABITS)
def test_habits_from_other_libraries_are_answered(case: str) -> None:
    call, message = HABITS[case]
    with pytest.raises((AttributeError, TypeError), match=message):
        chain_call(call)


# what comes in --------------------------------------------------------------------------------------------------------


def test_half_precision_is_computed_in_float64() -> None:
    layer, table = layer_of("chain"), scores_of("chain")["logits"].detach()
    halves = table.bfloat16()
    found = layer(halves, LENGTHS).log_partition
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), layer(halves.double(), LENGTHS).log_partition.detach())


def test_a_mask_leaves_positions_out() -> None:
    layer, table = layer_of("chain"), scores_of("chain")["logits"].detach()
    mask = torch.tensor([[True, False, True, True]] * 4)
    expected = layer(table[:, [0, 2, 3]], [3] * 4).log_partition
    for given in (mask, mask.tolist(), mask.numpy()):
        torch.testing.assert_close(layer(table, mask=given).log_partition, expected)


def test_padding_may_hold_anything() -> None:
    layer, table = layer_of("chain"), scores_of("chain")["logits"].detach().clone()
    expected = layer(table, LENGTHS).log_partition
    for s, length in enumerate(LENGTHS):
        table[s, length:] = torch.nan
    torch.testing.assert_close(layer(table, LENGTHS).log_partition, expected)


def chain_call(change):  # type: ignore[no-untyped-def]
    layer, table = layer_of("chain"), scores_of("chain")["logits"].detach().clone()
    return change(layer, table)


def _with(table: torch.Tensor, value: float) -> torch.Tensor:
    table[1, 0, 2] = value
    return table


def _with_weight(layer: layers.Layer, value: float) -> layers.Layer:
    with torch.no_grad():
        layer.weights[2] = value
    return layer


WRONG = {
    "NaN as a weight": (lambda layer, t: _with_weight(layer, float("nan"))(t), "weight 2 of the layer is nan"),
    "+inf as a weight": (lambda layer, t: _with_weight(layer, float("inf"))(t), "weight 2 of the layer is inf"),
    "NaN": (lambda layer, t: layer(_with(t, float("nan")), LENGTHS), "score nan in sentence 1, token 0"),
    "+inf": (lambda layer, t: layer(_with(t, float("inf")), LENGTHS), "score inf in sentence 1, token 0"),
    "wrong K": (lambda layer, t: layer(t[..., :2], LENGTHS), r"expected \[B, T, 3\]: one for each state of `tag`"),
    "whole numbers": (lambda layer, t: layer(t.long(), LENGTHS), "tensor of floats"),
    "lengths over T": (lambda layer, t: layer(t, [3, 1, 0, 5]), "from 0 to T = 4; found 5"),
    "negative lengths": (lambda layer, t: layer(t, [3, -1, 0, 4]), "found -1"),
    "other lengths": (lambda layer, t: layer(t, [3, 1]), "4 whole numbers"),
    "lengths as floats": (lambda layer, t: layer(t, torch.ones(4)), "whole numbers"),
    "both": (lambda layer, t: layer(t, [1] * 4, mask=torch.ones(4, 4, dtype=torch.bool)), "not both"),
    "mask of numbers": (lambda layer, t: layer(t, mask=torch.ones(4, 4)), "bool"),
    "another column": (lambda layer, t: layer({"logit": t}, LENGTHS), "expected logits"),
    "codes as floats": (lambda layer, t: layer(t, LENGTHS).log_prob(torch.zeros(4, 4)), "whole numbers"),
    "codes that require gradients": (
        lambda layer, t: layer(t, LENGTHS).log_prob(torch.zeros(4, 4, requires_grad=True)), "whole numbers",
    ),
    "codes of another shape": (lambda layer, t: layer(t, LENGTHS).log_prob(torch.zeros(4, 3).long()), "expected"),
    "codes beyond": (lambda layer, t: layer(t, LENGTHS).log_prob(torch.full((4, 4), 3)), "codes 0 to 2"),
    "another label": (lambda layer, t: layer(t, LENGTHS).log_prob({"tags": torch.zeros(4, 4).long()}), "no label"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_error(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        chain_call(call)


def test_impossible_labels_are_an_error_unless_they_are_asked_for() -> None:
    layer, scores = layer_of("forbidden moves"), scores_of("forbidden moves")
    tags = torch.tensor([[0, 2, 0, 0]] * 4)
    with pytest.raises(ValueError, match=r"labels of sentence 0 .* impossible"):
        layer(scores, LENGTHS).log_prob(tags)
    assert layer(scores, LENGTHS).log_prob(tags, validate=False)[0] == -torch.inf


def test_states_in_another_order_are_an_error() -> None:
    resolved = dcrfdsl.load_text(CHAIN)
    assert layers.Layer(resolved, states=["A", "B", "C"]).states == {"tag": ("A", "B", "C")}
    with pytest.raises(ValueError, match="in another order: 0 is 'B' for you, and 'A' in the template"):
        layers.Layer(resolved, states={"tag": ["B", "A", "C"]})
    with pytest.raises(ValueError, match="has the states A, B, C in the template"):
        layers.Layer(resolved, states=["A", "B"])


REFUSED = {
    "features": ("clique tag: offset(logits), word", "has features of data"),
    "where": ("clique tag: offset(logits)\nclique tag[i], tag[j] where word[i] = word[j]", "joins positions by data"),
    "observations": ('clique tag: offset(logits)\nforbid tag is A when word is "x"', "reads other data"),
    "tests": ("clique tag: offset(logits) & word has /x/", "reads other data"),
    "scale": ("clique tag: offset(logits, scale = 2)", "adds scores as they are"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_template_that_reads_other_data_is_refused(case: str) -> None:
    cliques, message = REFUSED[case]
    text = f"data jsonl(word, logits: scores(tag), tag)\nlabel tag in {{A, B, C}}\n{cliques}\nclique tag[-1], tag\n"
    with pytest.raises(dcrfdsl.DcrfError, match=message):
        layers.Layer(dcrfdsl.load_text(text))


def test_states_must_be_declared() -> None:
    text = CHAIN.replace(" in {A, B, C}", "")
    with pytest.raises(dcrfdsl.DcrfError, match="no data to learn the states"):
        layers.Layer(dcrfdsl.load_text(text))


def test_a_third_derivative_and_vmap_are_refused() -> None:
    layer, table = layer_of("chain"), scores_of("chain")["logits"]
    first = torch.autograd.grad(layer(table, LENGTHS).log_partition.sum(), table, create_graph=True)[0]
    second = torch.autograd.grad((first**2).sum(), table, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        second.sum().backward()
    with pytest.raises(RuntimeError, match="one batch"):
        torch.func.vmap(lambda one: layer(one[None], [4]).log_partition)(table)


@pytest.mark.filterwarnings("ignore")  # of torch itself
@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.hessian, torch.func.jacfwd])
def test_transforms_of_functions_are_refused(transform) -> None:  # type: ignore[no-untyped-def]
    layer, table = layer_of("chain"), scores_of("chain")["logits"].detach()
    with pytest.raises(RuntimeError, match=r"one batch|take `torch.autograd.grad`"):
        transform(lambda one: layer(one, LENGTHS).log_partition.sum())(table)


def test_a_batch_without_tokens_has_a_loss_of_0() -> None:
    layer, table = layer_of("chain"), scores_of("chain")["logits"]
    loss = layer(table, [0] * 4).loss(torch.zeros(4, 4).long())
    loss.backward()
    assert float(loss.detach()) == 0.0 and not table.grad.any() and not layer.weights.grad.any()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of torch itself
def test_compiled_networks_call_a_layer_as_it_is() -> None:
    layer, table = layer_of("chain"), scores_of("chain")["logits"]
    tags = tags_of(layer)["tag"]

    def net(scores: torch.Tensor) -> tuple[torch.Tensor, ...]:
        d = layer(scores.tanh(), LENGTHS)
        return -d.log_prob(tags).sum() * 2.0, d.marginals["tag"], d.mode, d.topk(2)[1], d.entropy()

    expected, found = net(table), torch.compile(net, backend="eager")(table)
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(one[0], [table, layer.weights]) for one in (found, expected)]
    torch.testing.assert_close(*slopes)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_tensors_of_a_gpu() -> None:
    layer, table = layer_of("chain").cuda(), scores_of("chain")["logits"].detach().cuda().requires_grad_()
    loss = layer(table, LENGTHS).log_partition.sum()
    loss.backward()
    cpu, there = layer_of("chain"), scores_of("chain")["logits"]
    expected = cpu(there, LENGTHS).log_partition.sum()
    expected.backward()
    torch.testing.assert_close(loss.cpu(), expected)
    torch.testing.assert_close(table.grad.cpu(), there.grad)
