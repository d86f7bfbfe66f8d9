"""Files and a command that bring a message on data, models or the command line, and the message as printed.

A test runs them all. See `message_examples`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandExample:
    """Files by name, a command that is run beside them, or a line each of several, and one message that comes out."""

    files: Mapping[str, str | bytes]
    command: str
    message: str


CHUNK = "data conll(word, chunk)\nlabel chunk\nclique chunk: word\n"
TRAIN = "the B\ndog I\n"
SHAPES = "data conll(word, chunk)\nlabel chunk\nclique chunk: shape_of(word)\n"
JSONL = "data jsonl(word, chunk)\nlabel chunk\nclique chunk: word\n"
CONLLU = "data conllu(form, upos)\nlabel upos\nclique upos: form\n"
NUMBERS = "data conll(height:float, chunk)\nlabel chunk\nclique chunk: height\n"
TRAINS = "dcrfdsl train chunk.dcrf train.txt -o chunk.model"
TRAINS_JSONL = "dcrfdsl train chunk.dcrf train.jsonl -o chunk.model"
TRAINS_CONLLU = "dcrfdsl train tag.dcrf train.conllu -o tag.model"

COMMAND_EXAMPLES: Mapping[str, CommandExample] = {
    "bad-event": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        f"{TRAINS}\ndcrfdsl probability chunk.model train.txt 'chunk[1] is B and word[2] is dog'",
        "error[bad-event]: `word` is a column of the data, which is known\n"
        "  --> event:1:19\n"
        "   |\n"
        " 1 | chunk[1] is B and word[2] is dog\n"
        "   |                   ^^^^^^^\n"
        "   = help: the labels are `chunk`, each with a position, as in `chunk[3]`",
    ),
    "bad-id": CommandExample(
        {"tag.dcrf": CONLLU, "train.conllu": "one\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n"},
        TRAINS_CONLLU,
        "error[bad-id]: `one` is no token number; expected `1`, a range `1-2` or an empty node `1.1`\n"
        "  --> train.conllu:1",
    ),
    "bad-json": CommandExample(
        {"chunk.dcrf": JSONL, "train.jsonl": '{"word": ["the"], "chunk": [B]}\n'},
        TRAINS_JSONL,
        "error[bad-json]: not JSON: expecting value at column 29\n"
        "  --> train.jsonl:1:29\n"
        "  = help: one sentence a line, as a JSON object of lists or a JSON list of objects",
    ),
    "bad-override": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        TRAINS + " --set optimizer=lbfgs",
        "error[bad-override]: `optimizer` cannot be set: there is no constant `optimizer`\n"
        "  --> --set:1:1\n"
        "   |\n"
        " 1 | optimizer=lbfgs\n"
        "   | ^^^^^^^^^ no such constant\n"
        "   = help: what can be set: `infer`, `infer.KEY`, `decode`, `train.KEY`",
    ),
    "bad-result": CommandExample(
        {
            "chunk.dcrf": SHAPES,
            "shapes.py": "import dcrfdsl\n\n\n@dcrfdsl.feature\ndef shape_of(word):\n    return {word}, 1\n",
            "train.txt": TRAIN,
        },
        TRAINS + " --features shapes.py",
        "error[bad-result]: feature function `shape_of` returns `({'the'}, 1)` on `the` (train.txt:1)\n"
        "  --> shapes.py:4\n"
        "  = help: it may return a text, several texts, a bool, a number, a mapping of names to numbers, or None",
    ),
    "bad-sentence": CommandExample(
        {"chunk.dcrf": JSONL, "train.jsonl": '{"word": ["the", "dog"], "chunk": ["B"]}\n'},
        TRAINS_JSONL,
        "error[bad-sentence]: columns of unequal length: `word` has 2, `chunk` has 1\n  --> train.jsonl:1",
    ),
    "bad-uai": CommandExample(
        {"graph.uai": "MARKOV\n2\n2 two\n"},
        "dcrfdsl infer graph.uai",
        "error[bad-uai]: `two` is not the number of states of variable 1: expected a whole number\n  --> graph.uai:3",
    ),
    "bad-importance": CommandExample(
        {
            "chunk.dcrf": NUMBERS + "train likelihood: importance = height\n",
            "train.txt": "1 B\n2 I\n",
        },
        TRAINS,
        "error[bad-importance]: `height` is 2 here and 1 on the first token of the sentence\n  --> train.txt:2\n"
        "  = help: give all tokens of a sentence the same number, or write `importance = tokens(…)`",
    ),
    "bad-value": CommandExample(
        {"chunk.dcrf": NUMBERS, "train.txt": "tall B\n1.5 I\n"},
        TRAINS,
        "error[bad-value]: column `height`: found `tall`, expected a number\n  --> train.txt:1",
    ),
    "binary-file": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00"},
        "dcrfdsl train chunk.dcrf train.txt.gz -o chunk.model",
        "error[binary-file]: `train.txt.gz` is a binary file (byte 0x00 in line 1); expected UTF-8 text\n"
        "  --> train.txt.gz:1:4\n"
        "  = help: unpack it if it is compressed",
    ),
    "broken-constraint": CommandExample(
        {"chunk.dcrf": CHUNK + "forbid chunk[-1] is B and chunk is I\n", "train.txt": TRAIN},
        TRAINS,
        "error[broken-constraint]: the gold labels break `forbid chunk[-1] is B and chunk is I` at 1 of "
        "1 places (line 2)\n"
        "  --> train.txt:2\n"
        "  = help: correct the data, or relax or remove this `forbid`",
    ),
    "broken-scheme": CommandExample(
        {
            "chunk.dcrf": "data conll(word, chunk)\nlabel chunk in bio(NP)\nclique chunk: word\n",
            "train.txt": "the B-NP\nbarks O\ndog I-NP\n",
        },
        TRAINS,
        "error[broken-scheme]: gold of `chunk` breaks `bio`: `I-NP` after `O` (line 3)\n"
        "  --> train.txt:3\n"
        "  = help: correct the data, or declare `chunk` … `with constrain = no` to allow every move",
    ),
    "column-count": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": "the DT B\ndog NN I\n"},
        TRAINS,
        "error[column-count]: line 1 has 3 columns, expected 2 (`word chunk`)\n  --> train.txt:1",
    ),
    "corrupt-model": CommandExample(
        {
            "chunk.model": b'@\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{"dcrfdsl":"{\\"checksum\\":\\"crc32:'
            + b"0" * 72
        },
        "dcrfdsl tag chunk.model test.txt",
        "error[corrupt-model]: `chunk.model` is damaged: its header cannot be read\n"
        "  --> chunk.model\n"
        "  = help: copy it again from where it came, or train it again",
    ),
    "empty-cell": CommandExample(
        {"tag.dcrf": CONLLU, "train.conllu": "1\tdog\t\tNOUN\t_\t_\t_\t_\t_\t_\n\n"},
        TRAINS_CONLLU,
        "error[empty-cell]: line 1 has nothing in column `lemma`, expected at least `_`\n  --> train.conllu:1",
    ),
    "empty-file": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": ""},
        TRAINS,
        "error[empty-file]: `train.txt` holds no sentence\n  --> train.txt",
    ),
    "empty-label": CommandExample(
        {
            "chunk.dcrf": "data csv(word, chunk)\nlabel chunk\nclique chunk: word\n",
            "train.txt": "word,chunk\nthe,B\ndog,\n",
        },
        TRAINS,
        "error[empty-label]: label `chunk` has no value (line 3), and its states are learned from the values\n"
        "  --> train.txt:3\n"
        '  = help: fill it in; if it is not known there, declare `with missing = ""`',
    ),
    "empty-member": CommandExample(
        {
            "chunk.dcrf": 'data conll(word, chunk)\nlabel chunk with ambiguous = "|"\nclique chunk: word\n',
            "train.txt": "the B|\ndog I\n",
        },
        TRAINS,
        "error[empty-member]: label `chunk` has the value `B|`, and `|` in it splits off a member "
        "without text (line 1)\n"
        "  --> train.txt:1\n"
        "  = help: write a set as `A|B`; if `B|` is a state, declare the states of `chunk`",
    ),
    "exchanged-arguments": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN + "saw O\na B\ncat I\nand O\nit B\nran O\noff O\n. O\n"},
        "dcrfdsl train train.txt chunk.dcrf -o chunk.model",
        "error[exchanged-arguments]: `chunk.dcrf` is the template, and `train.txt` is none: they were "
        "given in the wrong order\n"
        "  = help: write `chunk.dcrf train.txt`",
    ),
    "feature-file": CommandExample(
        {"chunk.dcrf": SHAPES, "train.txt": TRAIN, "shapes.py": "def shape_of(word):\n    return word[:1]\n"},
        TRAINS + " --features shapes.py",
        "error[feature-file]: it marks no feature function\n"
        "  --> shapes.py\n"
        "  = help: put `@dcrfdsl.feature` above a function",
    ),
    "feature-function-failed": CommandExample(
        {
            "chunk.dcrf": SHAPES,
            "train.txt": TRAIN,
            "shapes.py": "import dcrfdsl\n\n\n@dcrfdsl.feature\ndef shape_of(word):\n    return word[3]\n",
        },
        TRAINS + " --features shapes.py",
        "error[feature-function-failed]: feature function `shape_of` raises IndexError on `the` "
        "(train.txt:1): string index out of range\n"
        "  --> shapes.py:6",
    ),
    "file-error": CommandExample(
        {"chunk.dcrf": CHUNK},
        TRAINS,
        "error[file-error]: `train.txt`: no such file or directory\n  --> train.txt",
    ),
    "file-exists": CommandExample(
        {"chunk.dcrf": CHUNK},
        "dcrfdsl new linear_chain -o chunk.dcrf",
        "error[file-exists]: `chunk.dcrf` exists already\n  = help: choose another name, or remove it first",
    ),
    "idle-decode": CommandExample(
        {},
        "dcrfdsl tag chunk.model test.txt --nbest 3 --decode joint",
        "error[idle-decode]: `--nbest` lists labellings in their order, which no `--decode` changes\n"
        "  = help: leave out one",
    ),
    "idle-lexicon": CommandExample(
        {
            "chunk.dcrf": (
                'data conll(word, chunk)\nlabel chunk\nlexicon days = "days.txt"\nclique chunk: word, word in days\n'
            ),
            "days.txt": "Monday\nTuesday\n",
            "train.txt": TRAIN,
        },
        "dcrfdsl check chunk.dcrf --data train.txt",
        "warning[idle-lexicon]: lexicon `days` (2 entries) matches 0 of 2 tokens\n"
        "  --> train.txt\n"
        "  = help: no column has its entries, in any case of letters; they are `Monday`, `Tuesday`",
    ),
    "idle-override": CommandExample(
        {"chunk.dcrf": CHUNK + "train pseudolikelihood as first\ntrain likelihood as second\n", "train.txt": TRAIN},
        "dcrfdsl check chunk.dcrf --set first.prior=none",
        "warning[idle-override]: stage `first` does not run, so `first.prior=none` changes nothing\n"
        "  --> --set:1:1\n"
        "   |\n"
        " 1 | first.prior=none\n"
        "   | ^^^^^^^^^^^ does not run\n"
        "   = help: run it with `--stage first`; `train.prior` sets `second`, which runs",
    ),
    "missing-column": CommandExample(
        {"chunk.dcrf": JSONL, "train.jsonl": '{"word": ["the", "dog"]}\n'},
        TRAINS_JSONL,
        "error[missing-column]: column `chunk` missing: this line has `word`, expected `word chunk`\n"
        "  --> train.jsonl:1",
    ),
    "mixed-results": CommandExample(
        {
            "chunk.dcrf": SHAPES,
            "train.txt": TRAIN,
            "shapes.py": (
                "import dcrfdsl\n"
                "\n"
                "\n"
                "@dcrfdsl.feature\n"
                "def shape_of(word):\n"
                '    return len(word) if word == "the" else word\n'
            ),
        },
        TRAINS + " --features shapes.py",
        "error[mixed-results]: feature function `shape_of` gives a number here and a text there\n"
        "  = help: a function must give texts, truths, numbers or mappings, always the same",
    ),
    "needs-json": CommandExample(
        {},
        "dcrfdsl tag chunk.model test.txt --clique-marginals",
        "error[needs-json]: `--clique-marginals` has no place in the columns of the input\n  = help: add `--json`",
    ),
    "no-assignment": CommandExample(
        {"graph.uai": "MARKOV\n1\n2\n1\n1 0\n2\n0 0\n"},
        "dcrfdsl infer graph.uai",
        "error[no-assignment]: no assignment of `graph.uai` is possible: each has potential 0, log Z is -inf",
    ),
    "bad-folds": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        "dcrfdsl cv chunk.dcrf train.txt",
        "error[bad-folds]: there are 5 folds for 1 sentence\n  --> train.txt\n"
        "  = help: every fold needs one: take fewer folds, or more data",
    ),
    "no-dev-data": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        TRAINS + " --tune",
        "error[no-dev-data]: `--tune` needs held-out data to score on\n  = help: give it by `--dev FILE`",
    ),
    "no-such-directory": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        "dcrfdsl train chunk.dcrf train.txt -o models/chunk.model",
        "error[no-such-directory]: there is no directory `models` to write to\n  --> models/chunk.model",
    ),
    "no-such-sentence": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        "dcrfdsl unroll chunk.dcrf train.txt --sentence 9",
        "error[no-such-sentence]: `train.txt` has 1 sentence, there is no number 9",
    ),
    "no-text": CommandExample(
        {"chunk.dcrf": b"data conll(word, chunk)\n# caf\xe9\n"},
        "dcrfdsl check chunk.dcrf",
        "error[no-text]: byte 0xe9 is not UTF-8\n  --> chunk.dcrf:2:6\n  = help: save the template as UTF-8",
    ),
    "not-a-model": CommandExample(
        {"train.txt": TRAIN},
        "dcrfdsl tag train.txt test.txt",
        "error[not-a-model]: `train.txt` is not a dcrfdsl model file\n"
        "  --> train.txt\n"
        "  = help: a model file is what `dcrfdsl train TEMPLATE DATA -o MODEL` writes",
    ),
    "not-a-segment": CommandExample(
        {
            "chunk.dcrf": "data conll(word, chunk)\nlabel chunk in bio\nclique chunk: word\n",
            "train.txt": "the B-NP\nold I-NP\ndog E-NP\n",
        },
        TRAINS,
        "error[not-a-segment]: label `chunk` has the value `E-NP`, which is no `bio` state (line 3)\n"
        "  --> train.txt:3\n"
        "  = help: the data are marked as in `bioes`: write `label chunk in bioes`",
    ),
    "not-utf8": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": b"caf\xe9 B\n"},
        TRAINS,
        "error[not-utf8]: byte 4 of line 1 is 0xe9, which is not UTF-8\n"
        "  --> train.txt:1:4\n"
        "  = help: convert the file from its encoding: iconv -f ISO-8859-1 -t UTF-8 train.txt > converted.txt",
    ),
    "nothing-to-tune": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN, "dev.txt": TRAIN},
        TRAINS + " --tune --dev dev.txt",
        "error[nothing-to-tune]: no constant of the template has a search range\n"
        "  = help: give a constant its search range: `let variance = 10 tune log(0.1, 1000)`",
    ),
    "output-is-input": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        "dcrfdsl train chunk.dcrf train.txt -o train.txt",
        "error[output-is-input]: `train.txt` is an input of this command\n  = help: name another file after `-o`",
    ),
    "silent-feature": CommandExample(
        {"chunk.dcrf": "data conll(word, chunk)\nlabel chunk\nclique chunk: word, word is zebra\n", "train.txt": TRAIN},
        "dcrfdsl check chunk.dcrf --data train.txt",
        "warning[silent-feature]: the feature `word is zebra` never fires in the training data, or not "
        "as often as `min_count` asks\n"
        "  --> train.txt\n"
        "  = help: correct it, or leave it out: it costs time and has no weight",
    ),
    "target-is-directory": CommandExample(
        {"chunk.dcrf": CHUNK, "train.txt": TRAIN},
        "dcrfdsl train chunk.dcrf train.txt -o .",
        "error[target-is-directory]: `.` is a directory\n  --> .\n  = help: give the name of a file in it",
    ),
    "truncated-model": CommandExample(
        {"chunk.model": ""},
        "dcrfdsl tag chunk.model test.txt",
        "error[truncated-model]: `chunk.model` is empty\n"
        "  --> chunk.model\n"
        "  = help: copy it again from where it came, or train it again",
    ),
    "unknown-label": CommandExample(
        {
            "chunk.dcrf": "data conll(word, chunk)\nlabel chunk in {B, I}\nclique chunk: word\n",
            "train.txt": "the B\nbig X\ndog I\n",
        },
        TRAINS,
        "error[unknown-label]: label `chunk` has the value `X`, which its declaration does not list (line 2)\n"
        "  --> train.txt:2\n"
        "  = help: add it to the states of `chunk`, or `with others = STATE` to read unknown values as "
        "one state",
    ),
    "unknown-schema": CommandExample(
        {},
        "dcrfdsl schema chek",
        "error[unknown-schema]: there is no schema `chek`\n  = help: did you mean `check`?",
    ),
    "unknown-slug": CommandExample(
        {},
        "dcrfdsl check --explain unknown-nme",
        "error[unknown-slug]: `unknown-nme` is no kind of message\n  = help: did you mean `unknown-name`?",
    ),
    "unknown-template": CommandExample(
        {},
        "dcrfdsl new linear_chian",
        "error[unknown-template]: there is no ready-made template `linear_chian`\n"
        "  = help: did you mean `linear_chain`?",
    ),
    "unreadable-file": CommandExample(
        {},
        "dcrfdsl infer graph.uai",
        "error[unreadable-file]: cannot read `graph.uai`: No such file or directory\n  --> graph.uai",
    ),
    "numbers-as-texts": CommandExample(
        {
            "ward.dcrf": "data conll(temp, state)\nlabel state in {ILL, WELL}\nclique state: temp\n",
            "train.txt": "".join(f"3{n % 10}.{n} {'ILL' if n % 2 else 'WELL'}\n" for n in range(24)),
        },
        "dcrfdsl check ward.dcrf --data train.txt",
        "note[numbers-as-texts]: column `temp` looks numeric, and is read as texts: 24 distinct ones are features of "
        "their own\n"
        "  --> ward.dcrf:1:12\n"
        "   |\n"
        " 1 | data conll(temp, state)\n"
        "   |            ^^^^ texts\n"
        "   = help: declare `temp: float`, or put the numbers in bins: `bin(temp, 4)`",
    ),
    "unscaled-number": CommandExample(
        {
            "ward.dcrf": "data conll(p: float, y)\nlabel y\nclique y: bias, p\n",
            "train.txt": "1013.2 A\n1014.1 B\n1012.9 A\n1014.0 B\n",
        },
        "dcrfdsl check ward.dcrf --data train.txt",
        "warning[unscaled-number]: `p` has the mean 1,013.550 and the spread 0.512 in the training data: what its "
        "changes tell takes a large weight and a `bias` against it, which priors hold near 0\n"
        "  --> ward.dcrf:3:17\n"
        "   |\n"
        " 3 | clique y: bias, p\n"
        "   |                 ^ in these units\n"
        "   = help: write `standardize(p)` or `bin(p, 8)`; or name its clique, and leave it without a prior: "
        "`prior.NAME = none`",
    ),
    "unseen-state": CommandExample(
        {"chunk.dcrf": "data conll(word, chunk)\nlabel chunk in {B, I, O}\nclique chunk: word\n", "train.txt": TRAIN},
        "dcrfdsl check chunk.dcrf --data train.txt",
        "warning[unseen-state]: the state `O` of `chunk` never occurs in `train.txt`\n"
        "  --> chunk.dcrf:2:16\n"
        "   |\n"
        " 2 | label chunk in {B, I, O}\n"
        "   |                ^^^^^^^^^ not in the data\n"
        "   = help: remove what the data does not have: it is never predicted",
    ),
    "unknown-word": CommandExample(
        {},
        "dcrfdsl explain cliqe",
        "error[unknown-word]: `cliqe` is no word of the language and no kind of message\n"
        "  = help: did you mean `clique`?",
    ),
}
