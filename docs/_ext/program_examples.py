"""Messages that need a Python program: on models and rows that programs make, and on templates too long to be shown.

Further examples of the kind in `command_examples`.
"""

from __future__ import annotations

from collections.abc import Mapping

from command_examples import CommandExample

BAD_NAME = """\
import dcrfdsl

spec = dcrfdsl.load_text("data conll(word, chunk)\\nlabel chunk\\nclique chunk as words: word\\n").require()
clique = spec.cliques[0].model_copy(update={"name": "words # of the line"})
for problem in dcrfdsl.check(spec.model_copy(update={"cliques": (clique,)})):
    print(f"{problem.severity}[{problem.slug}]: {problem.message}")
"""
BAD_SPECIFICATION = """\
import dcrfdsl

spec = dcrfdsl.load_text("data conll(word, chunk)\\nlabel chunk\\nclique chunk: word\\n").require()
clique = spec.cliques[0].model_copy(update={"name": 5})
try:
    dcrfdsl.fit(spec.model_copy(update={"cliques": (clique,)}), "train.txt")
except dcrfdsl.DcrfError as error:
    print(error)
"""
COLUMN_TYPE = """\
import dcrfdsl

texts = dcrfdsl.load_text("data jsonl(height, chunk)\\nlabel chunk\\nclique chunk: height\\n")
numbers = dcrfdsl.load_text("data jsonl(height: float, chunk)\\nlabel chunk\\nclique chunk: height\\n")
corpus = dcrfdsl.corpus_from_rows([{"height": [1.5, 2], "chunk": ["B", "I"]}], numbers.spec.data)
try:
    dcrfdsl.fit(texts, corpus)
except dcrfdsl.DcrfError as error:
    print(error)
"""
MISSING_LABEL = """\
import dcrfdsl

template = dcrfdsl.load_text("data jsonl(word, chunk)\\nlabel chunk\\nclique chunk: word\\n")
corpus = dcrfdsl.corpus_from_rows([{"word": ["the", "dog"]}], template.spec.data, optional=["chunk"])
try:
    dcrfdsl.fit(template, corpus)
except dcrfdsl.DcrfError as error:
    print(error)
"""
CONSTRAINTS = """\
lines = [f"forbid y[-1] is {state} and y is {state}\\n" for state in range(18)]
with open("constraints.dcrf", "w") as file:
    file.write("data conll(word, y)\\nlabel y in 2048\\nclique y\\n" + "".join(lines))
"""
IN_TURN = """\
for number in range(70):
    with open(f"{number}.dcrf", "w") as file:
        file.write(f'use "{number + 1}.dcrf"\\n')
"""

PROGRAM_EXAMPLES: Mapping[str, CommandExample] = {
    "bad-name": CommandExample(
        {"names.py": BAD_NAME},
        "python names.py",
        "error[bad-name]: model `model` cannot be written as a template: a name or state holds a mark of the language",
    ),
    "bad-specification": CommandExample(
        {"names.py": BAD_SPECIFICATION},
        "python names.py",
        "error[bad-specification]: `cliques.0.name` of the specification is 5: input should be a valid string",
    ),
    "column-type": CommandExample(
        {"heights.py": COLUMN_TYPE},
        "python heights.py",
        "error[column-type]: column `height` of `<rows>` has numbers, and the template declares texts\n"
        "  --> <text>:1:12\n"
        "   |\n"
        " 1 | data jsonl(height, chunk)\n"
        "   |            ^^^^^^ declared as texts",
    ),
    "file-too-large": CommandExample(
        {"write.py": 'with open("chunk.dcrf", "w") as file:\n    file.write("the DT B\\n" * 150_000)\n'},
        "python write.py\ndcrfdsl check chunk.dcrf",
        "error[file-too-large]: a template of 1,350,000 characters; expected at most 1,000,000\n"
        "  --> chunk.dcrf\n"
        "  = help: is this a data file? A template describes a model; long lists belong in a lexicon or a state file",
    ),
    "missing-label": CommandExample(
        {"rows.py": MISSING_LABEL},
        "python rows.py",
        "error[missing-label]: `<rows>` has no column for the label `chunk`, which training needs\n"
        "  --> <text>:2:7\n"
        "   |\n"
        " 1 | data jsonl(word, chunk)\n"
        "   |                  ----- declared here\n"
        " 2 | label chunk\n"
        "   |       ^^^^^ no gold labels\n"
        "   = help: gold labels may be absent only from data that is to be tagged",
    ),
    "not-judged": CommandExample(
        {"write.py": CONSTRAINTS},
        "python write.py\ndcrfdsl check constraints.dcrf",
        "note[not-judged]: the constraints from here on are not compared with each other: 16 were\n"
        "   --> constraints.dcrf:20:8\n"
        "    |\n"
        " 20 | forbid y[-1] is 16 and y is 16\n"
        "    |        ^^^^^^^^^^^^^^^^^^^^^^^ not compared\n"
        "    = help: join constraints on the same labels by `or`, or give the labels fewer states",
    ),
    "piece-without-instance": CommandExample(
        {
            "chunk.dcrf": (
                "data conll(word, chunk)\n"
                "label chunk\n"
                "clique chunk[-1], chunk as pair\n"
                "piece wide over chunk[-2], chunk: pair, pair[-1]\n"
                "train piecewise(wide)\n"
            ),
            "train.txt": "the B\ndog I\n",
        },
        "dcrfdsl check chunk.dcrf --data train.txt",
        "warning[piece-without-instance]: no sentence has an instance of piece `wide`\n"
        "  --> chunk.dcrf:4:28\n"
        "   |\n"
        " 4 | piece wide over chunk[-2], chunk: pair, pair[-1]\n"
        "   |                            ^^^^^ spans 3 positions, and the longest sentence of the data has 2\n"
        "   = help: make it over positions less far apart",
    ),
    "too-many-errors": CommandExample(
        {"write.py": 'with open("chunk.dcrf", "w") as file:\n    file.write("cliqe chunk: word\\n" * 101)\n'},
        "python write.py\ndcrfdsl check chunk.dcrf",
        "error[too-many-errors]: more than 100 syntax errors; the rest of the file was not read\n"
        "    --> chunk.dcrf:101:1\n"
        "     |\n"
        " 101 | cliqe chunk: word\n"
        "     | ^^^^^^^^^^^^^^^^^",
    ),
    "use-too-deep": CommandExample(
        {"write.py": IN_TURN},
        "python write.py\ndcrfdsl check 0.dcrf",
        "error[use-too-deep]: files use each other more than 64 deep: `0.dcrf` → … → `64.dcrf` → `65.dcrf`\n"
        "  --> 64.dcrf:1:5\n"
        "   |\n"
        ' 1 | use "65.dcrf"\n'
        "   |     ^^^^^^^^^ level 65\n"
        "   = help: let one file use the others, side by side",
    ),
}
