"""Writes model files, checkpoints and exported taggers of the version at hand, with what they must answer.

    python tests/model/files_of_earlier_versions/make.py

writes the folder `VERSION/` beside this file. Run it once a release, before anything of the next one is changed, and
commit what it writes: `test_files_of_earlier_versions` then reads these files with every later version. A folder
that exists stays as it is, since its files would otherwise be of two versions.

    cases.json           for each file: its data, and what the version at hand answered
    models.tar.xz        NAME.model: one for each structure, feature and criterion
    checkpoints.tar.xz   NAME.checkpoint: trainings that were broken off
    taggers.tar.xz       NAME.py and NAME.npz: exported taggers

Everything is tiny and comes from fixed seeds.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE)]

from answers import FUNCTIONS, answers_of  # noqa: E402

import dcrfdsl  # noqa: E402
from dcrfdsl.export import export_tagger  # noqa: E402
from dcrfdsl.semantics.settings.training_settings import CRITERIA  # noqa: E402

Rows = list[list[tuple[str, ...]]]

WORDS = "a b c New New-York x7 York"
DATA = "data conll(word, y)\n"
Y = "label y in {P, Q, R}\n"
UNARY = "clique y as words: bias, word\n"
CHAIN = f"{UNARY}clique y[-1], y as moves\n"
END = "infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 3)\n"
GIBBS = "infer gibbs\ntrain likelihood: optimizer = lbfgs(max_iterations = 3), infer = exact\n"
TWO = f"data conll(word, y, z)\n{Y}label z in {{S, T}}\n"
LAYERS = f"{CHAIN}clique z: bias, word\nclique z[-1], z\nclique y, z as both: bias\n"
STATES = {"y": ("P", "Q", "R"), "z": ("S", "T")}
BIO = {"y": ("B-X", "I-X", "O"), "z": ("S", "T")}
NUMBERS = f"data conll(word, size: float, y)\n{Y}"

# Structures and features: the template, and its columns with the values from which cells are drawn.
# A column `y` that is drawn from BIO is repaired to what the scheme allows.
STRUCTURES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "independent": (f"{DATA}{Y}{UNARY}{END}", STATES),
    "chain": (f"{DATA}{Y}{CHAIN}{END}", STATES),
    "learned states": (f"{DATA}label y\n{CHAIN}{END}", STATES),
    "padded chain": (f"{DATA}{Y}{UNARY}clique y[-1], y with edges = pad: bias, word[-1..1]\n{END}", STATES),
    "all states": (
        f"{DATA}{Y}clique y with states = all: word\nclique y[-1], y with states = all: bias\n{END}",
        STATES,
    ),
    "seen states": (f"{DATA}{Y}{UNARY}clique y[-1], y with states = seen\n{END}", STATES),
    "segments by marks": (f"{DATA}label y in bio(X) with others = O\n{CHAIN}{END}", BIO),
    "second order": (f"{DATA}{Y}{UNARY}clique y[-2], y[-1], y: bias\nclique y[-1], y\n{END}", STATES),
    "third order": (f"{DATA}{Y}{UNARY}clique y[-3], y\nclique y[-1], y\n{END}", STATES),
    "factorial": (f"{TWO}{LAYERS}{END}", STATES),
    "factorial, messages": (f"{TWO}{LAYERS}{END.replace('exact', 'trp')}", STATES),
    "factorial, bp": (f"{TWO}{LAYERS}{END.replace('exact', 'bp')}", STATES),
    "factorial, mean field": (f"{TWO}{LAYERS}{END.replace('exact', 'mean_field')}", STATES),
    "factorial, trw": (f"{TWO}{LAYERS}{END.replace('exact', 'trw')}", STATES),
    "factorial, gbp": (f"{TWO}{LAYERS}{END.replace('exact', 'gbp')}", STATES),
    "factorial, ep": (f"{TWO}{LAYERS}{END.replace('exact', 'ep')}", STATES),
    "factorial, gibbs": (f"{TWO}{LAYERS}{GIBBS}", STATES),
    "factorial, auto": (f"{TWO}{LAYERS}{END.replace('exact', 'auto')}", STATES),
    "factorial, certified": (f"{TWO}{LAYERS}decode certified\n{END.replace('exact', 'trp')}", STATES),
    "skip": (
        f"{DATA}{Y}{CHAIN}clique y[i], y[j] where word[i] = word[j] as skip with min_gap = 2: bias, word[i]\n{END}",
        STATES,
    ),
    "arcs": (
        "data conll(word, head, y)\n"
        + f"{Y}{UNARY}clique y[i], y[j] where index[j] = head[i] as arc with order = any\n"
        f"{END}",
        {"head": ("0", "1", "2", "3"), **STATES},
    ),
    "segments": (f"{DATA}{Y}{CHAIN}segment y up to 3 as spans: bias, length, joined(word), last(word)\n{END}", STATES),
    "segments of a scheme": (
        f"{DATA}label y in bio(X)\n{CHAIN}segment y up to 2 as spans with longer = together: length, any(word)\n{END}",
        BIO,
    ),
    "segments beside a label": (
        f"{TWO}{LAYERS}segment y up to 3 as spans: bias, length, first(word)\n{END}",
        STATES,
    ),
    "latent": (f"{DATA}{Y}latent h in 2\n{UNARY}clique y, h\nclique h: word\nclique h[-1], h\n{END}", STATES),
    "missing": (f'{DATA}label y in {{P, Q, R}} with missing = "_"\n{CHAIN}{END}', {"y": ("P", "Q", "R", "_")}),
    "ambiguous": (
        f'{DATA}label y in {{P, Q, R}} with ambiguous = "|"\n{CHAIN}{END}',
        {"y": ("P", "Q", "R", "P|Q", "Q|R")},
    ),
    "memory": (
        f"{DATA}{Y}memory met = met[-1] or y[-1] is Q and word[-1] is a\n"
        f"memory kept in states(y) = y[-1] if y[-1] is not R else kept[-1] initially P\n"
        f"{CHAIN}clique y, met: bias, word\nclique y, kept\n{END}",
        STATES,
    ),
    "sentence label": (
        "data conll(word, y, kind)\nlabel kind in {BUY, ASK} for sentence\n" + f"{Y}{CHAIN}"
        "clique kind: bias, word\nclique kind, y\n" + END,
        {**STATES, "kind": ("BUY", "ASK")},
    ),
    "once": (f"{DATA}label y in {{P, Q, R}}\n{CHAIN}once y except {{R}}\n{END}", {"y": ("R",)}),
    "constraints": (
        f"{TWO}{LAYERS}forbid y[-1] is P and z is T when word is zebra\n".replace(" when word is zebra", "")
        + f"require z is S when y[-1] is P and word is a\n{END}",
        {"y": ("Q", "R"), "z": ("S", "T")},
    ),
    "views": (
        f"{DATA}label y in {{P1, P2, Q1}}\nview coarse = prefix(y, 1)\nclique y: word\n"
        f"clique coarse[-1], coarse: bias, word\nclique coarse, y[1]\n{END}",
        {"y": ("P1", "P2", "Q1")},
    ),
    "numbers": (
        f"{NUMBERS}clique y: bias, size, word & size, size[-1] > 0, bin(size, 2), length(word)\nclique y[-1], y: size\n"
        f"{END}",
        {"size": None, **STATES},
    ),
    "functions": (
        f"{DATA}{Y}features shapes: lower(word)[-1..1], prefix(word, 1..2), suffix(word, 2), shape(word)\n"
        "features tests: first, last, index & word, word has /[0-9]/, word matches /\\p{Lu}.*/, word = word[-1]\n"
        f"clique y: bias, shapes, tests, word[-1] & word\nclique y[-1], y\n{END}",
        STATES,
    ),
    "lexicons": (
        f'lexicon places = "places.txt"\nlexicon kinds = "kinds.txt" with case = ignore\n{DATA}{Y}'
        f"clique y: bias, word in places, kinds(word), span(word, places)\nclique y[-1], y\n{END}",
        STATES,
    ),
    "function of one's own": (f"{DATA}{Y}clique y: bias, vowels(word)\nclique y[-1], y\n{END}", STATES),
    "bags": (
        f"data conll(word, marks: bag, weights: weighted_bag, pixels: vector(2), y)\n{Y}"
        f"clique y: marks, weights, pixels, marks & word\nclique y[-1], y\n{END}",
        {"marks": ("p q", "q", ""), "weights": ("p:0.5 q:2", "q:1"), "pixels": ("0.5 1", "-1 0.25"), **STATES},
    ),
    "voting": (f"{DATA}{Y}{CHAIN}infer exact\ntrain perceptron: epochs = 4, vote = yes\n", STATES),
    "pruned by a stage": (
        f"{DATA}{Y}{CHAIN}clique y[-2], y[-1], y with states = seen\npiece alone over y: words\n"
        "infer pruned(by = coarse, threshold = 0.1, keep = 2)\n"
        "train piecewise(alone) as coarse: infer = exact\n"
        "train likelihood as fine after coarse: optimizer = lbfgs(max_iterations = 3)\n",
        STATES,
    ),
    "marginal decoding": (f"{DATA}{Y}{CHAIN}decode marginal\n{END}", STATES),
    "kernel": (
        f"{NUMBERS}clique y as image with states = all: size\nclique y[-1], y\ninfer exact\n"
        "train hmsvm: C = 1, loss = hamming(y), kernel.image = rbf(gamma = 0.1)\n",
        {"size": None, **STATES},
    ),
    "metrics": (f"{DATA}label y in bio(X)\n{CHAIN}{END}evaluate segments(y), accuracy(y), by_type(y)\n", BIO),
}

SHORT = "max_iterations = 5"
BASE = f"{DATA}{Y}{CHAIN}"
LATENT = f"{DATA}{Y}latent h in 2\nclique y, h\nclique h as words: bias, word\nclique h[-1], h\n"
# Trainings: of every criterion and optimizer, by the template's last lines. Those that can are broken off as well.
TRAININGS: dict[str, str] = {
    "likelihood": f"{BASE}infer exact\ntrain likelihood: optimizer = lbfgs({SHORT})\n",
    "likelihood, auto": f"{BASE}infer exact\ntrain likelihood: optimizer = auto({SHORT}, epochs = 3)\n",
    "likelihood, owlqn": f"{BASE}infer exact\ntrain likelihood:\n    prior = laplace\n    optimizer = owlqn({SHORT})\n",
    "likelihood, proximal":
        f"{BASE}infer exact\ntrain likelihood:\n    prior = group_lasso\n    optimizer = proximal({SHORT})\n",
    "likelihood, cg": f"{BASE}infer exact\ntrain likelihood: optimizer = cg({SHORT})\n",
    "likelihood, quickprop": f"{BASE}infer exact\ntrain likelihood: optimizer = quickprop({SHORT}, online = 3)\n",
    "likelihood, sgd": f"{BASE}infer exact\ntrain likelihood: optimizer = sgd(epochs = 4)\n",
    "likelihood, iis": f"{BASE}infer exact\ntrain likelihood:\n    prior = none\n    optimizer = iis({SHORT})\n",
    "likelihood, trp": f"{TWO}{LAYERS}infer trp\ntrain likelihood: optimizer = lbfgs({SHORT})\n",
    "likelihood, restarts":
        f"{LATENT}infer exact\ntrain likelihood:\n    restarts = 2\n    optimizer = lbfgs(max_iterations = 3)\n",
    "piecewise": f"{BASE}infer exact\ntrain piecewise: optimizer = lbfgs({SHORT})\n",
    "memm": f"{BASE}infer exact\ntrain memm: optimizer = lbfgs({SHORT})\n",
    "pseudolikelihood": f"{BASE}infer exact\ntrain pseudolikelihood: optimizer = lbfgs({SHORT})\n",
    "pwpl": f"{BASE}infer exact\ntrain pwpl: optimizer = lbfgs({SHORT})\n",
    "pwpl, nota": f"{BASE}infer exact\ntrain pwpl:\n    nota = above(after = 2)\n    optimizer = lbfgs({SHORT})\n",
    "bidirectional": f"{BASE}infer exact\ntrain bidirectional: optimizer = lbfgs({SHORT})\n",
    "rescale": f"{BASE}infer exact\ntrain memm as first: optimizer = lbfgs({SHORT})\ntrain rescale after first\n",
    "perceptron": f"{BASE}infer exact\ntrain perceptron: epochs = 4\n",
    "mce": f"{BASE}infer exact\ntrain mce: optimizer = lbfgs({SHORT})\n",
    "mce, gpd": f"{BASE}infer exact\ntrain mce: optimizer = gpd(epochs = 4)\n",
    "induce": f"{DATA}{Y}clique y: bias, word[-1..1]\nclique y[-1], y\ninfer exact\ntrain induce: rounds = 2\n",
    "marginal": f"{BASE}infer exact\ntrain marginal: optimizer = lbfgs({SHORT})\n",
    "exponential": f"{BASE}infer exact\ntrain exponential: optimizer = lbfgs({SHORT})\n",
    "adaboost": f"{BASE}infer exact\ntrain adaboost: rounds = 6\n",
    "hmsvm": f"{BASE}infer exact\ntrain hmsvm: C = 1\n",
    "hmsvm, bcfw": f"{BASE}infer exact\ntrain hmsvm: C = 1, optimizer = bcfw({SHORT})\n",
    "hmm": f"{DATA}{Y}clique y: bias, word\nclique y[-1], y with edges = pad\ninfer exact\ntrain hmm\n",
    "stages": f"{BASE}infer exact\ntrain likelihood as ml: optimizer = lbfgs(max_iterations = 3)\n"
              "train mce after ml: optimizer = lbfgs(max_iterations = 3)\n",
}  # fmt: skip
EXPORTED = (
    "chain", "segments by marks", "second order", "factorial", "memory", "views", "numbers", "functions", "lexicons",
)  # fmt: skip
FILES = {"places.txt": "New York\nNew-York\n", "kinds.txt": "a\tArticle\nnew\tAdjective\n"}


def drawn(columns: Mapping[str, Any], names: list[str], count: int, seed: int) -> Rows:
    """Random sentences; a column without values is of numbers."""
    rng = np.random.default_rng(seed)
    out: Rows = []
    for number in range(count):
        length = 1 if number == 0 else int(rng.integers(2, 6))
        table: dict[str, list[str]] = {"word": [str(rng.choice(WORDS.split())) for _ in range(length)]}
        for name in names[1:]:
            values = columns[name]
            if values is None:
                table[name] = [f"{rng.normal():.2f}" for _ in range(length)]
            elif name == "kind":
                table[name] = [str(rng.choice(values))] * length
            else:
                table[name] = [str(rng.choice(values)) for _ in range(length)]
        if "y" in table and columns.get("y") == BIO["y"]:
            before = "O"
            for t, state in enumerate(table["y"]):
                before = table["y"][t] = "B-X" if state == "I-X" and before == "O" else state
        if columns.get("y") == ("R",):  # each other state once
            table["y"][0] = "P"
            if length > 2:
                table["y"][2] = "Q"
        out.append(list(zip(*(table[name] for name in names), strict=True)))
    return out


class _Broken(Exception):
    """The training was broken off."""


def broken_off(resolved: Any, corpus: Any, path: Path, after: int) -> bool:
    """Trains until `after` iterations are done, then breaks off; whether a checkpoint is left."""
    done = 0

    def count(step: Any) -> None:
        nonlocal done
        done += 1
        if done > after:
            raise _Broken

    checkpoint = dcrfdsl.Checkpoint(path, seconds=0.0)
    try:
        dcrfdsl.fit(resolved, corpus, threads=1, on_iteration=count, checkpoint=checkpoint)
    except _Broken:
        return path.exists()
    return False


def archive(path: Path, files: Mapping[str, bytes]) -> None:
    """A compressed archive without times and owners."""
    with tarfile.open(path, "w:xz", preset=9) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def main() -> None:
    target = HERE / dcrfdsl.__version__
    if target.exists():
        raise SystemExit(f"{target} is there already")
    warnings.simplefilter("ignore")
    if missing := set(CRITERIA) - {name.partition(",")[0] for name in TRAININGS}:
        raise SystemExit(f"no training in TRAININGS by {', '.join(sorted(missing))}")
    cases: dict[str, Any] = {"models": {}, "checkpoints": {}, "taggers": {}}
    files: dict[str, dict[str, bytes]] = {"models": {}, "checkpoints": {}, "taggers": {}}
    everything = {**STRUCTURES, **{f"train {name}": (text, STATES) for name, text in TRAININGS.items()}}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, text in FILES.items():
            (place / name).write_text(text)
        for number, (name, (text, columns)) in enumerate(everything.items()):
            resolved = dcrfdsl.load_text(text, directory=place)
            data = resolved.require().data
            assert data is not None
            names = [column.name for column in data.columns]
            train, new = drawn(columns, names, 8, number), drawn(columns, names, 3, 1000 + number)
            registered = FUNCTIONS if "vowels" in text else {}
            corpus = dcrfdsl.corpus_from_rows(train, data)
            model = dcrfdsl.fit(resolved, corpus, threads=1, registered=registered)
            model.save(place / "a.model")
            files["models"][f"{name}.model"] = (place / "a.model").read_bytes()
            cases["models"][name] = {"train": train, "new": new, "answers": answers_of(model, train, new)}
            print(f"{name}: {len(files['models'][f'{name}.model']):,} bytes")
            if name in EXPORTED:
                slug = re.sub(r"\W", "_", name)
                export_tagger(model, place / f"{slug}.py")
                for file in (f"{slug}.py", f"{slug}.npz"):
                    files["taggers"][file] = (place / file).read_bytes()
                sentences = [{c: [row[n] for row in one] for n, c in enumerate(names)} for one in new]
                for one in sentences:
                    for label in model.labels:
                        del one[label]
                    if "size" in one:
                        one["size"] = [float(cell) for cell in one["size"]]
                cases["taggers"][name] = {"file": f"{slug}.py", "new": sentences}
            if not name.startswith("train "):
                continue
            path = place / "a.checkpoint"
            for after in (3, 2, 1, 6, 12):
                path.unlink(missing_ok=True)
                if broken_off(resolved, corpus, path, after):
                    files["checkpoints"][f"{name}.checkpoint"] = path.read_bytes()
                    case = {"template": text, "train": train, "weights": model.weights.tolist()}
                    cases["checkpoints"][name] = case
                    print(f"  broken off after {after}: {path.stat().st_size:,} bytes")
                    break
            path.unlink(missing_ok=True)
        reader = [sys.executable, HERE / "read_taggers.py", place]
        asked = json.dumps(cases["taggers"])
        found = json.loads(subprocess.run(reader, input=asked, capture_output=True, text=True, check=True).stdout)
        for name, case in cases["taggers"].items():
            case["answers"] = found[name]
    target.mkdir()
    for kind, contents in files.items():
        archive(target / f"{kind}.tar.xz", contents)
    lines = [
        f'"{kind}": {{\n'
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(case, ensure_ascii=False)}" for name, case in of.items())
        + "\n}"
        for kind, of in cases.items()
    ]
    (target / "cases.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
