"""`dcrfdsl demo`: trains a joint model on a real corpus in two minutes, and separate chains for comparison.

The corpus is in the wheel `turkish-treebanks` (extra `demo`): Turkish web text in CoNLL-U. The split is fixed: training
takes the first sentences of `data/web.conllu`, the test its last ones. Not here: the steps themselves.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .command_files import read_gold
from .console import Talk, refuse
from .options import Option, Quiet, Threads
from .report import NUMBER, TEXT, duration, print_table, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from ..data import Corpus
    from ..model import TrainedModel
    from ..semantics import ModelSpec

_WHEEL = "turkish-treebanks"
_REMEDY = "install the extra `demo`; in a clone of dcrfdsl: pip install -e '.[demo]'"
_TRAINING = 100  # sentences: two models converge in well under two minutes on 2 cores
_TEST = 300
# Five cliques tie the four labels of a token so tightly that belief propagation has several fixed points; exact
# inference fits (tables of some 10,000 entries) and trains a better model
_TOLERANCE = 1e-4  # relative to the first gradient; 1e-5 takes 25 more iterations and moves no score by 0.05
_SETTINGS = ("infer=exact", f"train.optimizer=lbfgs(tolerance={_TOLERANCE})")
_SHOWN_LENGTH = range(5, 9)  # tokens of the sentence that is shown


def demo(
    sentences: Annotated[int, Option("N", min=1)] = _TRAINING,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train a morphological tagger of Turkish in two minutes."""
    talk = Talk(quiet)
    path = treebank("data/web.conllu")
    from ..semantics import load_template
    from ..syntax import resource_path

    start = time.perf_counter()
    spec = load_template(resource_path("templates", "morphology.dcrf"), _SETTINGS).require()
    corpus = read_gold(str(path), spec, Talk(True))  # what is odd in these data is known, and nobody can mend it
    most = corpus.num_sentences - _TEST
    if sentences > most:
        refuse("too-many-sentences", f"found `--sentences {sentences}`, expected at most {most:,}")
    train, test = corpus.slice(0, sentences), corpus.slice(most, corpus.num_sentences)
    talk(f"data: {path.name} of the package {_WHEEL}, {corpus.num_sentences:,} sentences")
    talk(f"  training: the first {train.num_sentences:,} sentences, {train.num_tokens:,} tokens")
    talk(f"  test: the last {test.num_sentences:,} sentences, {test.num_tokens:,} tokens")
    changes = " ".join(f'--set "{setting}"' for setting in _SETTINGS)
    talk(f"model: the template that `dcrfdsl new morphology` writes, with {changes}")
    talk()
    talk(drawn(spec))
    talk()
    talk("The first run compiles the kernels (a quarter of a minute); later runs find them compiled.")
    # The chains come first: the joint model starts from their weights and needs a quarter fewer iterations. There is
    # one optimum, so the result is the same.
    title = "separate chains (the model without the cliques between chains)"
    chains = _trained(title, separate_chains(spec), train, threads, talk)
    joint = _trained("joint model, from the weights of the chains", spec, train, threads, talk, chains)
    print_table(_comparison(joint.evaluate(test, threads=threads), chains.evaluate(test, threads=threads)))
    print()
    shown = next((n for n, length in enumerate(test.lengths()) if length in _SHOWN_LENGTH), 0)
    print_table(_tagged(joint, test.slice(shown, shown + 1), threads))
    talk()
    talk(f"the whole demo took {duration(time.perf_counter() - start)}")


def treebank(name: str) -> Path:
    """The path of a file of the treebank's wheel. Raises `DcrfError` if the wheel is not installed."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        packed = [file for file in files(_WHEEL) or () if file.as_posix() == name]
    except PackageNotFoundError:
        packed = []
    path = Path(str(packed[0].locate())) if packed else None
    if path is None or not path.exists():
        refuse("no-demo-data", f"the demo needs `{name}` of the package `{_WHEEL}`, which is not installed", _REMEDY)
    return path


def separate_chains(spec: ModelSpec) -> ModelSpec:
    """The model without the cliques that join two variables: an independent chain for each variable.

    Its likelihood is the product of the chains' likelihoods, so training it trains each chain alone.
    """
    within = tuple(clique for clique in spec.cliques if len({site.variable for site in clique.sites}) == 1)
    return spec.model_copy(update={"cliques": within})


def drawn(spec: ModelSpec, positions: int = 3) -> str:
    """A text drawing of a model of chains, unrolled to `positions` positions, then the links within a position."""
    scopes = [tuple(dict.fromkeys(site.variable for site in clique.sites)) for clique in spec.cliques]
    chained = {scope[0] for scope, clique in zip(scopes, spec.cliques, strict=True)
               if len(scope) == 1 and len(clique.sites) > 1}  # fmt: skip
    width = max(len(label.name) for label in spec.labels) + 3
    lines = [f"The graph, for {positions} tokens:", ""]
    for label in spec.labels:
        nodes = [f"{label.name}[{t}]".ljust(width) for t in range(positions)]
        lines.append("    " + (" --- " if label.name in chained else "     ").join(nodes).rstrip())
    ties = ", ".join(" - ".join(scope) for scope in scopes if len(scope) > 1)
    return "\n".join([*lines, "", f"    and at every token: {ties}"])


def _trained(
    title: str, spec: ModelSpec, corpus: Corpus, threads: int | None, talk: Talk, start: TrainedModel | None = None
) -> TrainedModel:
    from ..semantics import LbfgsSettings
    from ..training import fit
    from .training_progress import progress_for

    talk(f"training: {title}")
    progress = progress_for(as_json=False, quiet=talk.quiet)
    progress.aim(_TOLERANCE, LbfgsSettings().max_iterations)
    with progress:
        model = fit(spec, corpus, threads=threads, on_iteration=progress, start=start, unchecked=True)  # it is valid
    record = model.record
    for note in record.notes:
        talk(f"warning: {note}")
    how = f"{'' if record.converged else 'not '}converged ({record.reason}) after {record.iterations} iterations"
    talk(f"{how} in {duration(record.seconds)}: {record.end}, {model.num_weights:,} weights")
    talk()
    return model


def _comparison(joint: Mapping[str, float | int], chains: Mapping[str, float | int]) -> Table:
    scores = {name: value for name, value in joint.items() if isinstance(value, float)}
    rows = ([name, f"{100 * value:.2f}", f"{100 * chains[name]:.2f}"] for name, value in scores.items())
    return table([(TEXT, ["test score (%)"]), (NUMBER, ["joint model", "separate chains"])], rows)


def _tagged(model: TrainedModel, sentence: Corpus, threads: int | None) -> Table:
    """A sentence with its predicted labels, and the marginal probability of each."""
    prediction = model.predict(sentence, threads=threads)
    marginals, _ = model.marginals(sentence, threads=threads)
    texts = {label: prediction.texts(label) for label in model.labels}
    words = sentence.text_column("word")
    rows = (
        [words.text(n), *(f"{texts[y][n]} {marginals[y][n, prediction.codes[y][n]]:.2f}" for y in model.labels)]
        for n in range(sentence.num_tokens)
    )
    return table([(TEXT, ["word", *model.labels])], rows)
