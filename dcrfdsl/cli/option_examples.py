"""Command lines for the options that no example in a command's docstring shows.

`--help` shows the docstring's; the reference and `dcrfdsl explain` show both. A test runs every line, and fails where
an option stands in none. Lines are in the shell's words, with `|`, `<`, `>` and `*`. Not here: what an option does,
which is said where it is declared.
"""

from __future__ import annotations

from collections.abc import Mapping

OPTION_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("dcrfdsl demo --sentences 10 --threads 2 --quiet",),
    "new": ("dcrfdsl new skip_chain --output skip.dcrf --quiet",),
    "check": (
        "dcrfdsl check chunk.dcrf --stage start --set start.prior=none",
        "dcrfdsl check shapes.dcrf --features shapes.py --quiet",
        "dcrfdsl check chunk.dcrf --print graph",
        "dcrfdsl check chunk.dcrf memm.dcrf --format sarif > check.sarif",
        "dcrfdsl check chunk.dcrf --data train.txt --format json",
    ),
    "fmt": ("dcrfdsl fmt shapes.dcrf --features shapes.py --quiet",),
    "train": (
        "dcrfdsl train chunk.dcrf train.txt -o start.model --stage start --threads 2",
        "dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --tune --search random --trials 5 --seed 7",
        "dcrfdsl train shapes.dcrf train.txt -o shapes.model --features shapes.py --quiet",
        "dcrfdsl train chunk.dcrf train.txt -o chunk.model --checkpoint 600",
        "dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --json > iterations.jsonl",
        "dcrfdsl train chunk.dcrf train.txt dev.txt -o chunk.model --workers 2",
        "dcrfdsl train chunk.dcrf train.txt -o chunk.model --cluster tcp://10.0.0.1:8786 --cache /shared/parts",
    ),
    "cv": (
        "dcrfdsl cv chunk.dcrf train.txt --folds 2 --stage start --stage likelihood --set infer=exact --seed 7",
        "dcrfdsl cv chunk.dcrf train.txt --folds 2 --group word --by-label --confusion --threads 2 --json --quiet",
        "dcrfdsl cv shapes.dcrf train.txt --folds 2 --features shapes.py",
    ),
    "tag": (
        "dcrfdsl tag chunk.model test.txt --json --marginals --clique-marginals > distributions.jsonl",
        "dcrfdsl tag chunk.model test.txt --decode marginal --threads 2 --quiet",
        "cat test.txt | dcrfdsl tag chunk.model --no-flush > tagged.txt",
        "dcrfdsl tag chunk.model test.txt --flush | head -n 1",
        "dcrfdsl tag boosted.model test.txt --rounds 3",
        "dcrfdsl tag shapes.model test.txt --features shapes.py",
        "dcrfdsl tag upos.model gold.conllu --apart > tagged.conllu",
    ),
    "eval": (
        "dcrfdsl eval boosted.model test.txt --rounds 3",
        "dcrfdsl eval shapes.model test.txt --features shapes.py --quiet",
    ),
    "compare": (
        "dcrfdsl compare chunk.model boosted.model gold.txt --level 0.9 --draws 99 --seed 7 --threads 2 --json -q",
        "dcrfdsl compare shapes.model chunk.model gold.txt --features shapes.py",
    ),
    "report": (
        "dcrfdsl report chunk.model gold.txt -o report.html --level 0.9 --draws 99 --seed 7 --threads 2 --quiet",
        "dcrfdsl report chunk.model gold.txt --output report.html --errors 50 --explain 5",
        "dcrfdsl report shapes.model gold.txt -o report.html --features shapes.py",
    ),
    "show": (
        "dcrfdsl show chunk.model --top 1000 --json --quiet > weights.jsonl",
        "dcrfdsl show shapes.model --features shapes.py",
    ),
    "why": (
        "dcrfdsl why chunk.model test.txt --at 1 --label chunk --json --quiet",
        "dcrfdsl why shapes.model test.txt --at 1 --features shapes.py",
    ),
    "probability": (
        "dcrfdsl probability chunk.model partly-tagged.txt --given 'chunk[1] is B' --threads 1 --quiet",
        "dcrfdsl probability shapes.model test.txt 'chunk[1] in {B, O}' --features shapes.py",
    ),
    "calibrate": (
        "dcrfdsl calibrate chunk.model dev.txt --of tokens --bins 5 --threads 1 --json > reliability.json",
        "dcrfdsl calibrate shapes.model dev.txt -o calibrated.model --features shapes.py --quiet",
    ),
    "unroll": (
        "dcrfdsl unroll chunk.dcrf train.txt --stage start --set start.infer=exact --quiet",
        "dcrfdsl unroll shapes.dcrf train.txt --features shapes.py",
    ),
    "convert": (
        "dcrfdsl convert grmm.txt --from grmm --columns pos,chunk,marks --quiet > factorial.dcrf",
        "dcrfdsl convert crf.py --columns part,attributes --label part -o chain.dcrf",
        "dcrfdsl convert train.txt --template chunk.dcrf --to jsonl",
    ),
    "export": (
        "dcrfdsl export boosted.model -o boosted.py --rounds 3 --json --quiet",
        "dcrfdsl export shapes.model -o small.model --format model --features shapes.py --bits 32",
    ),
    "infer": (
        "dcrfdsl infer grid.uai --method trp --max-iterations 500 --damping 0.5 --seed 1",
        "dcrfdsl infer grid.uai --method gibbs --samples 5000 --burn-in 500 --thin 2 --quiet",
        "dcrfdsl infer grid.uai --task map --nodes 1000",
        "dcrfdsl infer grid.uai --features shapes.py",
    ),
}
