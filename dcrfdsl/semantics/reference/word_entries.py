"""Entries of the words inside statements: feature functions, tests, places, formats, types, domains, rules, metrics.

What a table of the checker says is taken from there; the rest stands here, in tables whose names a test compares with
the checker's. Not here: statements and their options (`statement_entries`), methods (`method_entries`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...syntax import shown
from ..checks import FORMATS, METRICS, metric_usages
from ..schema import FUNCTIONS, RANGES, SCHEMES, SEGMENT_FUNCTIONS, FunctionSignature
from .reference_entry import ReferenceEntry, SettingEntry

Words = Mapping[str, tuple[str, str, str]]  # name -> usage, summary, example

LENGTH_KINDS = {
    "term": "a column, or a function of one",
    "lengths": "a length from 1, or a range of lengths",
    "pattern": "a regular expression of RE2, `/…/` or `/…/i`",
    "flag": "`yes` or `no`",
    "lexicon": "the name of a lexicon",
    "numbers": "a whole number from 2, or several numbers that ascend",
    "scores": "a column of the type `scores(…)`",
    "factor": "a number above 0",
    "number": "a column of numbers, or a function that gives one",
    "window": "a number with a window behind it",
}
COMPARED = (
    "A number is {} another: columns of numbers, `length(word)` (exact here, also from 20 on), `index`, texts that are "
    "numbers, constants. Where a text is no number, the test is false."
)
TESTS: Words = {
    "is": (
        "word is the, word is not the, temp is missing",
        "The value is this one, or is not. Of numbers there is `is missing` alone, with `missing` in `data`.",
        "clique chunk as here: word is the",
    ),
    "in": (
        "word in {a, the}, word in days, word not in days",
        "The value is one of these states, or an entry of a lexicon; `not in`: it is none of them.",
        'lexicon places = "places.txt"\nclique chunk as here: word in {a, the}, lower(word) not in places',
    ),
    "matches": (
        "word matches /[A-Z].*/",
        "The regular expression matches the whole value. Expressions are RE2's and take linear time; `/…/i` ignores "
        "case; `\\w` and `[A-Z]` know ASCII only, `\\p{Lu}` knows every alphabet.",
        "clique chunk as here: word matches /\\p{Lu}.*/",
    ),
    "has": (
        "word has /[0-9]/",
        "The regular expression matches somewhere in the value; else as `matches`.",
        "clique chunk as here: word has /[0-9]/",
    ),
    "=": (
        "word = word[-1], length(word) = 3",
        "Two values are equal, or a number is this one.",
        "clique chunk as here: word = word[-1]",
    ),
    "!=": (
        "word != word[-1], length(word) != 3",
        "Two values differ, or a number is not this one.",
        "clique chunk as here: pos != pos[1]",
    ),
    "<": ("length(word) < 3, temp[-1] < temp", COMPARED.format("less than"), "clique chunk as here: length(word) < 3"),
    "<=": ("length(word) <= 3", COMPARED.format("at most"), "clique chunk as here: length(word) <= 3"),
    ">": ("length(word) > 3", COMPARED.format("more than"), "clique chunk as here: length(word) > 3 & pos"),
    ">=": (
        "extract(word, /[0-9]+/) >= 1900",
        COMPARED.format("at least"),
        "clique chunk as here: extract(word, /^[0-9]{4}$/) >= 1900",
    ),
    "-": (
        "index[j] - index[i] < 20, temp - temp[-1] > 0.5",
        "The difference of two numbers, on the left of a comparison. In `where`, a difference of `index` bounds how "
        "far apart the positions are, as `max_gap` does.",
        "clique chunk[i], chunk[j] as near:\n    where index[j] - index[i] < 5 and pos[i] = pos[j]",
    ),
    "not": ("not CONDITION", "The condition is false.", "clique chunk as here: not word has /[0-9]/"),
    "and": ("CONDITION and CONDITION", "Both are true.", "clique chunk as here: (word has /-/ and pos is JJ)"),
    "or": ("CONDITION or CONDITION", "One is true, or both.", "clique chunk as here: (pos is NN or pos is NNS)"),
    "&": (
        "word & pos, word[-1] & word & first",
        "A cross: a feature for each combination of the values. It fires where all of them do.",
        "clique chunk as here: word[-1] & word",
    ),
}
PLACES: Words = {
    "[k]": (
        "word[-1], chunk[1]",
        "The place k positions later, or earlier for a negative k.",
        "clique chunk[-1], chunk as pair",
    ),
    "[a..b]": ("word[-2..2]", "A window: a feature for each place.", "clique chunk as here: word[-2..2]"),
    "[a, b]": ("word[-1, 1]", "Several places: a feature for each.", "clique chunk as here: word[-1, 1]"),
    "[i]": (
        "word[i], word[i-1]",
        "The place of a relational clique's site `y[i]`, and places relative to it.",
        "clique chunk[i], chunk[j] as skip:\n    where word[i] = word[j] and word[i] matches /[A-Z].*/\n    word[i-1]",
    ),
    "[all]": (
        "chunk[all]",
        "In a piece: every position of the sentence, so that a sentence has one instance.",
        "piece whole over chunk[all]: words, chain\ntrain piecewise(whole)",
    ),
}
COLUMN_TYPES: Words = {
    "text": ("word, word: text", "A value is a text. The type of a column without one.", "clique chunk as here: word"),
    "float": (
        "height: float", "A value is a number, which multiplies the weight. None is missing, unless `data` says how.",
        "data conll(word, height: float, y)\nlabel y\nclique y with states = all: height",
    ),
    "int": (
        "count: int", "A value is a whole number, which multiplies the weight.",
        "data conll(word, count: int, y)\nlabel y\nclique y with states = all: count",
    ),
    "bag": (
        "marks: bag", "A value is several texts, split at spaces; each is a feature.",
        "data jsonl(marks: bag, y)\nlabel y\nclique y: marks",
    ),
    "weighted_bag": (
        "attributes: weighted_bag",
        "A value is any number of names, each with a weight that multiplies its feature: `cap length:0.5` split at "
        'spaces, a list of names, or a mapping such as `{"cap": true, "length": 0.5, "pos": "NN"}`, in which the text '
        "makes the name `pos:NN`. A name that a token lacks is no feature there. In a cross the weights multiply; a "
        "function of the names keeps them.",
        "data jsonl(attributes: weighted_bag, y)\nlabel y\nclique y: attributes[-1..1]",
    ),
    "vector": (
        "pixels: vector(128)",
        "A value has that many numbers: a text, a JSON list or an array. Each component is a feature that multiplies "
        "its weight.",
        "data jsonl(pixels: vector(128), y)\nlabel y\nclique y with states = all: pixels",
    ),
    "scores": (
        "logits: scores(tag), moves: scores(tag, tag)",
        'A value has a number for each state of a variable, in the order of the states, or `{"O": -0.5, "B": 2}`; of '
        "several variables one for each assignment, the first variable slowest. −∞ is impossible. `offset` adds them. "
        "Of a label `for sentence` the scores of the first token count.",
        "data jsonl(logits: scores(tag), tag)\nlabel tag in bio(PER, LOC)\nclique tag: offset(logits)\n"
        "clique tag[-1], tag",
    ),
}  # fmt: skip
DOMAINS: Words = {
    "bio": (
        "label NAME in bio(TYPE, …)",
        "IOB2: B-X begins a segment of type X, I-X continues it, O is outside. Without types they are learned. I-X "
        "without B-X or I-X of the same type before it is forbidden, also at the first position.",
        "label chunk in bio(NP, VP)\nclique chunk: word\nclique chunk[-1], chunk",
    ),
    "bioes": (
        "label NAME in bioes(TYPE, …)",
        "IOBES: B-X … I-X … E-X, S-X for a segment of one token, O outside. Without types they are learned. Illegal "
        "moves are forbidden.",
        "label chunk in bioes(NP, VP)\nclique chunk: word\nclique chunk[-1], chunk",
    ),
    "bilou": (
        "label NAME in bilou(TYPE, …)",
        "BILOU: `bioes` with other letters, B-X … I-X … L-X, U-X for a segment of one token, O outside.",
        "label chunk in bilou(NP, VP)\nclique chunk: word\nclique chunk[-1], chunk",
    ),
    "bmes": (
        "label NAME in bmes(TYPE, …)",
        "BMES: `bioes` with other letters, B-X … M-X … E-X, S-X for a segment of one token, O outside. Where the data "
        "has bare letters, as for words of Chinese, `bmes` without types learns segments without a type.",
        "label chunk in bmes(NP, VP)\nclique chunk: word\nclique chunk[-1], chunk",
    ),
    "iob1": (
        "label NAME in iob1(TYPE, …)",
        "IOB1, as in the data of CoNLL-2003: I-X also begins a segment of type X, and B-X stands only where one "
        "directly follows another of type X. It is trained, scored and written as it is; "
        "`dcrfdsl convert --scheme bio` makes IOB2 of a file.",
        "label chunk in iob1(NP, VP)\nclique chunk: word\nclique chunk[-1], chunk",
    ),
    "states": (
        "label NAME in states(OTHER)",
        "The states of another variable.",
        "label chunk in {A, B}\nlatent twin in states(chunk)\nclique chunk: word\nclique twin, chunk",
    ),
    "{…}": ("label NAME in {A, B}", "These states, in this order.", "label chunk in {A, B, O}\nclique chunk: word"),
    "NUMBER": ("latent NAME in 4", "The states 0, 1, 2 and 3.", "latent topic in 4\nclique topic, chunk as topical"),
    '"FILE"': (
        'label NAME in "states.txt"',
        "The states of a file, one a line.",
        'label chunk in "states.txt"\nclique chunk: word',
    ),
}


def word_entries() -> Iterator[ReferenceEntry]:
    """An entry for each word that stands inside a statement."""
    yield from (_function(signature) for signature in FUNCTIONS.values())
    for name, meaning in SEGMENT_FUNCTIONS.items():
        yield ReferenceEntry(
            "function of a segment", name, f"segment LABEL up to N: {name}(COLUMN)",
            f"{meaning[0].upper()}{meaning[1:]}.", example=f"segment chunk up to 8: lower({name}(word))",
        )  # fmt: skip
    yield from _plain("test", TESTS)
    yield from _plain("place", PLACES)
    for name, data_format in FORMATS.items():
        options = tuple(
            SettingEntry(
                option, one.expected, one.default, "", "", one.meaning,
                data_format.written_out if f"{option} =" in data_format.written_out else data_format.example,
            )
            for option, one in data_format.options.items()
        )  # fmt: skip
        columns = f" Its columns: {', '.join(f'`{c}`' for c in data_format.sources)}." if data_format.sources else ""
        yield ReferenceEntry(
            FORMATS.kind, name, f"data {name}(COLUMN, …)", data_format.summary + columns, settings=options,
            example=data_format.example, written_out=data_format.written_out, synonyms=FORMATS.synonyms_of(name),
        )  # fmt: skip
    yield from _plain("column type", COLUMN_TYPES)
    for entry in _plain("domain", DOMAINS):
        synonyms, summary = SCHEMES.synonyms_of(entry.name), entry.summary
        if entry.name in SCHEMES:
            marks = ", ".join(f"{mark}-X" for mark in SCHEMES[entry.name].marks)
            summary += f" The states are in this order: {marks} of the first type, of the second …, then O."
        yield ReferenceEntry(entry.kind, entry.name, entry.usage, summary, example=entry.example, synonyms=synonyms)
    for name, metric in METRICS.items():
        usages = metric_usages(name, metric.takes)
        yield ReferenceEntry(
            METRICS.kind, name, "evaluate " + " | ".join(usages), metric.summary,
            example=f"evaluate {usages[0]}".replace("(label", "(chunk").replace("column", "word"),
            synonyms=METRICS.synonyms_of(name),
        )  # fmt: skip
    for name, kind in RANGES.items():
        yield ReferenceEntry(
            RANGES.kind, name, f"let NAME = VALUE tune {kind.example}", f"{kind.summary} It takes "
                f"{kind.expected}.",
            example=f"let spread = 1 tune {kind.example}\ntrain likelihood: prior = gaussian(variance = spread)",
            synonyms=RANGES.synonyms_of(name),
        )  # fmt: skip


def _plain(kind: str, words: Words) -> Iterator[ReferenceEntry]:
    for name, (usage, summary, example) in words.items():
        yield ReferenceEntry(kind, name, usage, summary, example=example)


def _function(signature: FunctionSignature) -> ReferenceEntry:
    settings = tuple(
        SettingEntry(
            parameter.name, LENGTH_KINDS[parameter.kind],
            "required" if parameter.default is None else shown(parameter.default),
            "", "", parameter.meaning, signature.example,
        )
        for parameter in signature.parameters
    )  # fmt: skip
    gives = {"value": "one value a position", "values": "several values a position", "test": "a test"}
    gives |= {"scores": "a score for each assignment of the clique", "number": "a number", "statistic": "a number"}
    return ReferenceEntry(
        FUNCTIONS.kind, signature.name, signature.usage, f"{signature.summary[0].upper()}{signature.summary[1:]}.",
        f"It gives {gives[signature.returns]}.", settings=settings, example=signature.example,
        synonyms=FUNCTIONS.synonyms_of(signature.name),
    )  # fmt: skip
