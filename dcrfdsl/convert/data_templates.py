"""A first template for data: how they are read, what each column holds, what is predicted; each choice with its reason.

A choice is a row of `FORMATS`, `LABELS`, `ROLES` or `PRIORS`, of which the first one that fits counts; what a column
brings is a line of `first_features.md`. The first `SAMPLE` tokens are looked at. Not here: costs, trials, printing
(`cli`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..data import FORM_NAMES, Corpus, InternedColumn, beginning_of, discovered, format_of_suffix, stream_corpus
from ..foundation import DcrfError, data_error, did_you_mean, shortened, spelling_remedy
from ..semantics import SCHEMES, has_segments, learn_types, legal_moves, violations
from ..syntax import Argument, Column, ColumnType, DataSpec, Text, statement_text
from ..training import joined_corpora
from .template_text import columns_of_data, fresh_name, template_text

SAMPLE, MANY, LONG = 50_000, 20_000, 50  # tokens: looked at; where what occurs once is left out; of a long sentence
MOST_STATES, MOST_TRIPLES = 1000, 50  # states of a label; of one whose triples are tried
FEW_KINDS, FEW_NUMBERS = 200, 10  # of a column of kinds; so few numbers are names
ABSENT = ("_", "")  # cells without a label
LABEL_NAMES = re.compile(r"(.*_)?(label|tag|class|target|y|activity|act|state|intent|ner|chunk|slot|part)s?", re.I)
SPEAKER_NAMES = re.compile(r"(.*_)?(speaker|author|user|who)(_.*)?", re.I)
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.]\d+)([eE][-+]?\d+)?|nan", re.I)


class Look(NamedTuple):
    """What is seen of a column.   texts: its distinct values, if it has texts.   states: those that may be labels.

    odd: texts that are no numbers.   frequent: whether a text comes thrice, on average.   counts_up: whether it grows
    from each token of a sentence to the next.   by_sentence: whether sentences of several tokens have one state each.
    in_runs: whether no state comes back, once another has come.   scheme: of segments, and whether all moves are legal.
    """

    column: Column
    is_number: bool
    texts: Sequence[str] = ()
    states: Sequence[str] = ()
    odd: Sequence[str] = ()
    frequent: bool = False
    counts_up: bool = False
    by_sentence: bool = False
    in_runs: bool = False
    scheme: tuple[str, bool] | None = None


def _look(column: Column, corpus: Corpus) -> Look:
    holds, off = corpus.columns[column.name], corpus.sentence_off
    if not isinstance(holds, InternedColumn):
        return Look(column, column.type.name in ("int", "float"))
    texts, counts_up = list(holds.values), False
    states, odd = [one for one in texts if one not in ABSENT], [one for one in texts if not NUMBER.fullmatch(one)]
    numbers = {one: n for n, one in enumerate(states)}
    codes = np.array([numbers.get(one, -1) for one in texts])[holds.codes]
    is_number = len(texts) - len(odd) > FEW_NUMBERS and len(odd) < 2
    if is_number and not odd and len(off) <= len(codes):
        values = np.array([float(one.replace(",", ".")) for one in texts])[holds.codes]
        counts_up = bool((np.delete(np.diff(values), off[1:-1] - 1) > 0).all())
    first = np.maximum.reduceat(codes, off[:-1])
    same = bool((first >= 0).all() and ((codes < 0) | (codes == np.repeat(first, np.diff(off)))).all())
    in_runs = np.count_nonzero(np.diff(codes[codes >= 0])) + 1 == len(states) > 1
    fit = has_segments(states) and [name for name in SCHEMES if not learn_types(name, states)[1]]
    legal = [name for name in fit or () if not len(violations(legal_moves(name, states), codes, off))]
    scheme, many = ([*legal, *fit][0], bool(legal)) if fit else None, len(codes) >= 2 * len(first) > 2
    return Look(
        column, is_number, texts, states, odd, 3 * len(texts) < len(codes), counts_up, same and many, in_runs, scheme
    )


UNUSED, BY_ORDER = ("left out", "document"), ("conll", "fasta", "grmm", "crfsuite")  # roles, formats without names
TYPES = {"number": ColumnType(name="float"), "phrase": ColumnType(name="bag")}  # of columns, by their roles
# role, test, what is said of the column
ROLES: Sequence[tuple[str, Callable[[Look], bool], str]] = (
    ("vector", lambda look: look.column.type.name == "vector", "vectors of numbers"),
    ("other", lambda look: not look.texts and not look.is_number, "several values a token"),
    ("left out", lambda look: len(look.texts) == 1, "one value everywhere"),
    ("left out", lambda look: look.counts_up, "grows from token to token"),
    ("document", lambda look: bool(look.texts) and look.by_sentence and look.in_runs, "tells documents apart"),
    ("left out", lambda look: look.is_number and look.column.key is not None, "numbers need a name that is a word"),
    ("number", lambda look: look.is_number, "numbers"),
    ("speaker", lambda look: SPEAKER_NAMES.fullmatch(look.column.name) is not None, "who speaks, by the name"),
    ("letter", lambda look: max(map(len, look.texts)) == 1, "single characters"),
    ("kind", lambda look: len(look.texts) <= FEW_KINDS, "a few kinds"),
    ("phrase", lambda look: 2 * sum(" " in one for one in look.texts) > len(look.texts), "several words a cell"),
    ("other", lambda look: True, "texts"),
)


def _marked(looks: Sequence[Look]) -> list[Look]:
    first = next((n for n, look in enumerate(looks) if look.scheme), len(looks))
    return [look for look in looks[first:] if look.scheme or (look.by_sentence and not look.in_runs)]


# which columns are labels, of those with 2 to `MOST_STATES` states, and why
LABELS: Sequence[tuple[Callable[[Sequence[Look]], Sequence[Look]], str]] = (
    (lambda looks: [one for one in looks if one.column.source == "spans"], "the spans of the texts"),
    (_marked, "its values look like labels"),
    (lambda looks: [one for one in looks if one.column.source in ("upos", "xpos", "deprel")][:1], "treebanks have it"),
    (lambda looks: [one for one in looks if LABEL_NAMES.fullmatch(one.column.name)][-1:], "its name or place says so"),
    (lambda looks: [one for one in looks if one.frequent][-1:], "the last column of a few kinds"),
)  # fmt: skip


class Portrait(NamedTuple):
    """Data as they are seen: `data` reads `corpus`, which is all of `source` if `complete`.   reason: of the format.

    looks, roles: of the columns by name; a role comes with what is said of it.   labels: names.
    """

    source: str
    data: DataSpec
    reason: str
    corpus: Corpus
    complete: bool
    looks: Mapping[str, Look]
    roles: Mapping[str, tuple[str, str]]
    labels: Sequence[str]


def portrait_of(files: Sequence[str], data: DataSpec | None, asked: Sequence[str]) -> Portrait:
    """Looks at the beginning of data, for `first_template` and `variants`.

    files: of one format.   data: how they are read, or None.   asked: columns to predict; none: guessed.
    Returns a `Portrait`. Raises DcrfError for data that cannot be read, without a token, or without labels.
    """
    data, reason = (data, "as you say") if data is not None and data.columns else _statement(files[0], data)
    corpus = _sample(files, data)[0]
    seen = {one.name: _look(one, corpus) for one in data.columns}
    runs = {len(one.states): one.column for name, one in seen.items() if one.in_runs and one.frequent}
    if data.format in ("csv", "tsv") and corpus.num_sentences == 1 and runs and max(runs) > 2:
        column = runs[max(runs)]
        reason += f"; each value of `{column.key or column.name}` is a sentence"
        others = tuple(one for one in data.columns if one != column)
        options = (*data.options, _option("sentence", column.key or column.source))
        data = data.model_copy(update={"options": options, "columns": others})
        return portrait_of(files, data, asked)._replace(reason=reason)
    texts = [name for name, look in seen.items() if look.texts and not look.is_number]
    plain = [name for name in texts if not LABEL_NAMES.fullmatch(name) and not seen[name].scheme]
    plain = plain if len(plain) < len(texts) else plain[:-1]
    words = next(iter([*(name for name in texts if name.lower() in FORM_NAMES), *plain]), None)
    labels, why = _labels(files[0], seen, asked, words)
    if data.format == "conllu":  # the rest is annotated like the label, and a text to be tagged lacks it
        seen = {name: look for name, look in seen.items() if name == words or name in labels}
    roles = {name: next((role, said) for role, fits, said in ROLES if fits(look)) for name, look in seen.items()}
    roles |= {words: ("words", "the words")} if words and roles[words][0] != "letter" else {}
    roles |= dict.fromkeys(labels, ("label", f"predicted: {why}"))
    numbers = [look for name, look in seen.items() if roles[name][0] == "number"]
    more = [_option("missing", look.odd[0]) for look in numbers if look.odd][:1]
    more += [_option("decimal", ",")] if any("," in one for look in numbers for one in look.texts) else []
    columns = [look.column.model_copy(update={"type": TYPES.get(roles[name][0], look.column.type)})
               for name, look in seen.items() if data.format in BY_ORDER or roles[name][0] not in UNUSED]  # fmt: skip
    data = data.model_copy(update={"columns": tuple(columns), "options": (*data.options, *more)})
    source = files[0] + (f"` and {len(files) - 1:,} more of its folder" if len(files) > 1 else "`")
    return Portrait(source, data, reason, *_sample(files, data), seen, roles, labels)


def _labels(file: str, looks: Mapping[str, Look], asked: Sequence[str], words: str | None) -> tuple[Sequence[str], str]:
    """The columns to predict, and why. DcrfError, with all columns, where there is none."""
    able = {name: look for name, look in looks.items() if 2 <= len(look.states) <= MOST_STATES}
    kinds = {name: f"texts: {len(one.texts):,}, as `{shortened(one.texts[0])}`" if one.texts else "numbers"
             for name, one in looks.items()}  # fmt: skip
    seen = f"the columns are {', '.join(f'`{name}` ({kind})' for name, kind in kinds.items())}"
    for name in asked:
        if name not in able:
            message = f"`{name}` cannot be a label, which is a column with 2 to {MOST_STATES:,} kinds of texts"
            raise data_error("no-label", message, file=file, help=spelling_remedy(did_you_mean(name, able), seen))
    found = [look for name, look in able.items() if name != words and not look.is_number]
    guesses = (([look.column.name for look in rule(found)], why) for rule, why in LABELS)
    for names, why in [(asked, "as you say"), *guesses]:
        if names:
            return names, why
    raise data_error("no-label", "no column looks like labels", file=file, help=f"name it: --labels NAME; {seen}")


# where the ending of the name does not tell the format: test of the first lines, why
FORMATS: Sequence[tuple[str, str, str]] = (
    ("spans", r'(?s)[\[{].*"text"\s*:\s*"', "each record has a text and labelled spans of it"),
    ("jsonl", r"[\[{]", "a line is a sentence"),
    ("conllu", r"(#.*\n)*1(\t[^\t\n]+){9}\n", "ten columns"),
    ("conll", "", "a token a line, and columns in order"),
)


def _option(name: str, value: str) -> Argument:
    return Argument(name=name, value=Text(value=value))


def _statement(path: str, said: DataSpec | None) -> tuple[DataSpec, str]:
    """How a file is read, with all of its columns, and why.   said: the format, if somebody says it."""
    text = beginning_of(path).decode("utf-8", "replace")
    lines = [line for line in text[: text.rfind("\n") + 1 or None].splitlines() if line.strip()]
    if not lines:
        raise _nothing(path)
    start = "\n".join(lines[:20]) + "\n"
    name, reason = next((name, why) for name, begins, why in FORMATS if re.match(begins, start))
    suffix = format_of_suffix(Path(path).suffix.lower())
    if suffix not in (None, "conll", "jsonl"):
        name, reason = str(suffix), "as the name of the file ends"
    data, options = said or DataSpec(format=name, columns=()), list[Argument]()
    if name == "csv" and said is None and lines[0].count(";") > lines[0].count(","):
        options.append(_option("separator", ";"))
    by_tabs = name == data.format == "conll" and all("\t" in line for line in lines)
    options += [_option("separator", "\t")] if by_tabs else []
    data = data.model_copy(update={"options": (*data.options, *options)})
    if data.format == "fasta":
        columns = [Column(name=n, source=n) for n in ("residue", "tag")]
    elif data.format == "conll":
        count = len(lines[0].split("\t")) if by_tabs else columns_of_data(text, path)
        columns = [Column(name=n, source=n) for n in ("word", *(f"column{n}" for n in range(2, count)), "tag")]
    else:
        taken = set[str]()
        columns = [_named(one, taken) for one in discovered(path, data).columns if one.key or one.name.isidentifier()]
        columns = [one for one in columns if one.type.name == "str" or one.source == one.name]
    return data.model_copy(update={"columns": tuple(columns)}), reason


def _named(column: Column, taken: set[str]) -> Column:
    """The column under a name that a template can use. One with a type cannot be renamed."""
    wanted = {"form": "word", "token": "word", "spans": "tag"}.get(column.source, column.name)
    name = fresh_name(re.sub(r"\W+|^(?=\d)", "_", wanted), taken)
    source = {"source": name, "key": None} if column.source == "column" and column.key == name else {}
    return column.model_copy(update={"name": name, **source})


def _nothing(path: str) -> DcrfError:
    return data_error("empty-file", f"`{path}` has no token", file=path, help="give data with labels")


def _sample(files: Sequence[str], data: DataSpec) -> tuple[Corpus, bool]:
    """The first sentences, and whether they are all there are."""
    parts = list[Corpus]()
    for chunk in (one for file in files for one in stream_corpus(file, data, tokens_per_chunk=SAMPLE, flush=False)):
        if sum(part.num_tokens for part in parts) >= SAMPLE:
            return joined_corpora(parts), False
        parts += [chunk.corpus] if chunk.corpus.num_tokens else []
    if not parts:
        raise _nothing(files[0])
    return joined_corpora(parts), True


def _features_by_role() -> Mapping[str, Sequence[tuple[str, str]]]:
    """What a column brings by its role, each with the reason; the first one is what it has in the plainest variant."""
    pages = Path(__file__).with_name("first_features.md").read_text(encoding="utf-8").split("\n## ")[1:]
    return {page.partition("\n")[0]: re.findall(r"^\* `(.+?)`: (.+)$", page, re.MULTILINE) for page in pages}


PRIORS = {  # by a role that is there
    "signal": "0.1)  # strong, since windows overlap and tell the same several times",
    "vector": "1)  # strong, since a vector has many numbers, which tell the same in part",
    "words": "10)  # keeps weights small; `dcrfdsl train --tune` finds the best one",
}


def variants(portrait: Portrait) -> dict[str, str]:
    """The texts of three templates by name; two where a label has many states.   `portrait`: of the data."""
    found = {"plain": first_template(portrait, plain=True), "features": first_template(portrait)}
    if len(portrait.labels) > 1:
        return found | {"without ties": first_template(portrait, order=0)}
    dear = len(portrait.looks[portrait.labels[0]].states) > MOST_TRIPLES
    return found if dear else found | {"second order": first_template(portrait, order=2)}


def first_template(portrait: Portrait, *, plain: bool = False, order: int = 1) -> str:
    """The text of a template in the canonical layout, with reasons as comments.   portrait: of the data.

    plain: with the first features of a column alone.   order: of the chains; 0: those of several labels are not tied.
    """
    corpus, looks, labels, of_roles = portrait.corpus, portrait.looks, portrait.labels, _features_by_role()
    long = corpus.num_tokens >= LONG * corpus.num_sentences
    roles = {name: "signal" if role == "number" and long else role for name, (role, _) in portrait.roles.items()}
    used = {name: role for name, role in roles.items() if role in of_roles}
    token = fresh_name("token", {*looks})
    rare = " with min_count = 2" if corpus.num_tokens >= MANY and "words" in used.values() else ""
    rows = [(name, *row) for name, role in used.items() for row in of_roles[role][: 1 if plain else None]]
    features = [f"features {token}{rare}:\n", *(f"    {one.format(name)} # {name}: {why}\n" for name, one, why in rows)]
    cliques = list[tuple[str, str, str]]()  # why, sites, what stands behind the name
    for y in labels:
        cliques.append((f"What a token says of `{y}`; `bias` says how frequent a state is.", y, f": bias, {token}"))
        if not looks[y].by_sentence:
            cliques.append(("Neighbours.", f"{y}[-1], {y}", ""))
            if order > 1:
                cliques.append(("Three in a row, if seen.", f"{y}[-2], {y}[-1], {y}", " with states = seen"))
            for who in [] if plain else [name for name, role in used.items() if role == "speaker"]:
                same = f":\n    where {who}[i] = {who}[j]\n    with link = next\n    bias"
                cliques.append(("What the same one said before.", f"{y}[i], {y}[j]", same))
    cliques += [(f"`{a}` and `{b}` go together.", f"{a}, {b}", "") for a, b in combinations(labels, 2) if order]
    named = [f"# {why}\nclique {sites}{rest}\n" for why, sites, rest in cliques]
    prior = next((prior for role, prior in PRIORS.items() if role in used.values()), PRIORS["words"])
    scores = [f"segments({y})" if looks[y].scheme else f"accuracy({y})" for y in labels]
    scores += ["joint_accuracy"] if len(labels) > 1 else []
    ends = [f"train likelihood: prior = gaussian(variance = {prior}\nevaluate {', '.join(scores)}\n"]
    where = "all of it" if portrait.complete else "its beginning"
    size = f"sentences: {corpus.num_sentences:,}, tokens: {corpus.num_tokens:,}"
    headline = f"A first template for `{portrait.source}, from a look at {where} ({size})."
    return template_text(headline, [list(_declared(portrait)), features, named, ends])


def _declared(portrait: Portrait) -> Iterator[str]:
    """`data`, and the labels."""
    yield f"# Read as `{portrait.data.format}`: {portrait.reason}.\n"
    for name, (role, said) in portrait.roles.items():
        count = f"{len(portrait.looks[name].texts):,} distinct; " if portrait.looks[name].texts else ""
        yield f"#   {name}: {count}{said}{'; not used' if role in UNUSED else ''}\n"
    yield f"{statement_text(portrait.data)}\n\n"
    for name, look in ((name, portrait.looks[name]) for name in portrait.labels):
        kinds = ABSENT if look.scheme or look.by_sentence else ("",)  # `_` may be a state, as in treebanks
        options = [f'missing = "{text}"' for text in look.texts if text in kinds]
        said, domain = f"has {len(look.states):,} states in the data", ""
        if look.by_sentence:
            said, domain = "is told once a sentence", " for sentence"
        elif look.scheme:
            rules = "hold" if look.scheme[1] else "hold not everywhere in the data"
            said, domain = f"marks segments as `{look.scheme[0]}` does, whose rules {rules}", f" in {look.scheme[0]}"
            options += [] if look.scheme[1] else ["constrain = no"]
        yield f"# `{name}` {said}.\nlabel {name}{domain}{' with ' if options else ''}{', '.join(options)}\n"
