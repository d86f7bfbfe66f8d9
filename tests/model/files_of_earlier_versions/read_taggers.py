"""Runs exported taggers in a Python that loads nothing but numpy, and prints what they answer.

    python read_taggers.py FOLDER < taggers.json

FOLDER holds `NAME.py` and `NAME.npz`; the input is the part `taggers` of `cases.json`.
"""

import json
import runpy
import sys
from pathlib import Path

folder = Path(sys.argv[1])
answers = {}
for name, case in json.load(sys.stdin).items():
    program = folder / case["file"]
    tagger = runpy.run_path(str(program))["Tagger"](program.with_suffix(".npz"))
    probabilities = [
        {label: table.tolist() for label, table in tables.items()} for tables in tagger.marginals_all(case["new"])
    ]
    answers[name] = {"labels": tagger.tag_all(case["new"]), "probabilities": probabilities}
if loaded := {"dcrfdsl", "numba", "scipy"} & set(sys.modules):
    sys.exit(f"an exported tagger needs numpy alone, but loads {', '.join(sorted(loaded))}")
print(json.dumps(answers))
