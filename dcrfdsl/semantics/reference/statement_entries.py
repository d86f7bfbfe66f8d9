"""Entries of statements, with their grammar, and of the options that they take after `with`.

The grammar is read off the grammar file, so it is what the parser reads. Not here: what stands inside statements
(`word_entries`, `method_entries`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...syntax import BY_KEYWORD, KEYWORDS, SYNONYMS, resource_path
from .method_entries import STAGE_EXAMPLES, stage_settings
from .reference_entry import ReferenceEntry, SettingEntry

RULES = {"dcrf": ("edition",), "clique": ("clique", "sites", "site", "where", "with_", "clique_block")}
RULES |= {"piece": ("piece", "member"), "data": ("data", "call"), "train": ("train", "setting", "key")}

# keyword -> usage, summary, text, example
STATEMENTS: Mapping[str, tuple[str, str, str, str]] = {
    "dcrf": (
        "dcrf 1", "The edition of the language. Optional; `fmt` writes it.", "It comes first.",
        "dcrf 1\ndata conll(word, y)\nlabel y\nclique y: word",
    ),
    "data": (
        "data FORMAT(COLUMN, …)",
        "How data is read, and which columns it has.",
        "`word = form` reads a column under another name, and `height: float` gives it a type. Label columns may be "
        "absent when you tag: `tag` takes all declared columns, or all but the labels, one choice a file.",
        "data conll(word, pos, chunk)\nlabel chunk\nclique chunk: word",
    ),
    "label": (
        "label NAME [in DOMAIN] [for sentence] [with OPTION = …]",
        "A variable to predict, read from the column of that name.",
        "Without a domain it learns its states from the training data. With `for sentence` a sentence has one state, "
        "as an intent or a genre; else each token has one. Its column has the same value at all tokens, or with "
        "`missing` the mark at some. A clique over it alone sees the features of all tokens, summed, and `bias` once; "
        "one over it and a label of tokens lies at every token. Labels may be partly known: `missing`, `ambiguous`, "
        "`soft` for distributions, `source` and `covers` for annotators that mark some types alone.",
        'label chunk in {B-NP, I-NP, O} with others = O\nclique chunk: word\nclique chunk[-1], chunk',
    ),
    "latent": (
        "latent NAME in DOMAIN",
        "A variable that is never observed. Training and tagging sum it out.",
        "Its weights begin at random values, drawn by `seed`; `restarts` tries several starts.",
        "latent sense in 3\nclique sense, chunk as senses: bias, word\nclique sense[-1], sense as moves",
    ),
    "memory": (
        "memory NAME [in DOMAIN] = EXPR [if CONDITION else EXPR] [initially STATE]",
        "A deterministic function of earlier labels and of observations, which carries a dependency over any distance.",
        "It costs what a chain costs. At the first token it is `initially` (`no` for a test), whatever the expression "
        "says of it. After it a test of a label outside the sentence is false, and a copy of one is `initially`.",
        "memory seen_verb = seen_verb[-1] or pos[-1] matches /VB.*/\nclique chunk, seen_verb as verbal: bias, pos",
    ),
    "view": (
        "view NAME = EXPR [if CONDITION else EXPR]",
        "A many-to-one map of the states of one label, such as a coarse tag.",
        "A clique over a view shares its weights among the states that it maps to one.",
        "view inside = chunk is not O\nclique inside[-1], inside as coarse: bias, word",
    ),
    "lexicon": (
        'lexicon NAME = "FILE" [with case = ignore]',
        "The entries of a file, one a line: a set, or with a TAB and a second column a map.",
        "The path is relative to the template. `word in NAME` tests for an entry, `span(word, NAME)` finds entries of "
        "several words, and `NAME(word)` reads the map. A model file keeps the content.",
        'lexicon places = "places.txt"\nclique chunk as here: word in places',
    ),
    "let": (
        "let NAME = VALUE [tune RANGE]",
        "A constant, for settings and options; `tune` is the range that `train --tune` searches.",
        "`--set NAME=VALUE` changes it for one run.",
        "let spread = 5 tune log(0.1, 100)\ntrain likelihood: prior = gaussian(variance = spread)",
    ),
    "use": (
        'use "FILE"',
        "Takes over the statements of another template.",
        "The path is relative to the file that has it. Declarations merge, and a name that is declared twice is an "
        "error. "
        "The `data`, `infer`, `decode` and `evaluate` of the outer file replace those of the used one; its stages "
        "follow.",
        'use "base.dcrf"',
    ),
    "features": (
        "features NAME [with OPTION = …]: FEATURE, …",
        "A named group of features. A clique lists it by its name; `NAME[-2..2]` shifts the whole group.",
        "Groups may list groups, nested 64 deep at most.",
        "features form with min_count = 1:\n    word, suffix(word, 1..3)\nclique chunk as here: form[-1..1]",
    ),
    "clique": (
        "clique SITE, … [as NAME] [with OPTION = …] [: FEATURE, …]",
        "Which variables depend on each other, and by which features: clique indices {(time offset, variable)}.",
        "It lies at each position where all its sites are in the sentence. Without features it has `bias`, a weight "
        "for "
        "each joint assignment. With `where` it is relational: the data joins the positions i and j.",
        "clique chunk[-1], chunk as pair: bias, word",
    ),
    "segment": (
        "segment LABEL [from A] up to B [as NAME] [with OPTION = …]: FEATURE, …",
        "Features of whole segments, with a weight for each type: a semi-Markov model, exact.",
        "A segment is one of the label's scheme (`O` is none), or without a scheme a longest run of one state. "
        "`length` is its number of tokens, `joined(word)` its words as one text, `any(word)` each of them once, "
        "`first(word)` and `last(word)` those at its ends, `first(word[-1])` and `last(word[1])` those beside it; "
        "functions and tests go around these. With `from A`, segments have A tokens at least; `O` is bounded by "
        "nothing, and a sentence of fewer tokens has none. Tokens and moves have their cliques beside it, and the "
        "model may have other labels.",
        "clique chunk as here: bias, word\nclique chunk[-1], chunk as pair\n"
        "segment chunk up to 8 as spans: length, lower(joined(word)), first(pos) & last(pos)",
    ),
    "piece": (
        "piece NAME over SITE, …: [locked] CLIQUE, …",
        "A part of the model that is normalised over its own variables, for training by pieces.",
        "`chain[1]` is the clique `chain` at the next position. What its cliques touch beside its own variables is "
        "conditioned on at the gold value. A `locked` clique takes part and gets no gradient from the piece.",
        "piece next over chunk: chain, words\ntrain piecewise(next)",
    ),
    "forbid": (
        "forbid CONDITION [when CONDITION] [as NAME] [with cost = NUMBER]",
        "No labelling may satisfy the condition, where the one after `when` holds; one that does has probability 0.",
        "It has no instance where a label that it names lies outside the sentence. With a `cost` it may be broken, at "
        "that price a place.",
        "forbid chunk is B-VP and pos is DT as no_verb\nforbid chunk is I-NP when pos is SYM",
    ),
    "require": (
        "require CONDITION [when CONDITION] [as NAME] [with cost = NUMBER]",
        "Every labelling must satisfy the condition, where the one after `when` holds.",
        "It has no instance where a label that it names lies outside the sentence. With a `cost` it may be broken, at "
        "that price a place.",
        "require chunk is O when pos is SYM",
    ),
    "once": (
        "once LABEL [except {TYPE, …}] [as NAME]",
        "Each type of the label's segments occurs at most once in a sentence, but those after `except`.",
        "A label without `bio` or `bioes` has runs of an equal state in place of segments, and `except` names states. "
        "Up to about nine types the rule is a part of the graph, exact in training, probabilities and decoding. With "
        "more, training does without it, and decoding searches for the best labelling that keeps to it; `check` says "
        "which. It needs `infer exact` or `auto`.",
        "once chunk except {NP}",
    ),
    "runs": (
        "runs of LABEL [is STATE] [from A] [up to B] [as NAME] [with ends = cut | whole]",
        "Each longest run of a state has A tokens at least, and B at most.",
        "Of a label with `bio`, `bioes` or the like, these are the lengths of its segments, and STATE is a type; `O` "
        "is bounded by nothing. The rule is exact in training, probabilities and decoding, by a state for each count; "
        "`check` says how many. Where the first and the last run have the least length too (`ends = whole`), a "
        "sentence shorter than A has no labelling, unless `O` is one. `decode marginal` takes the likeliest state of "
        "each token and may break it.",
        "runs of chunk is NP from 2 up to 8\nruns of chunk up to 20",
    ),
    "expect": (
        "expect CONDITION [when CONDITION] [as NAME] with share = NUMBER",
        "Training holds the share of places where the model gives the condition near what is known of it.",
        "The share r is the mean probability of the condition over the places of the data where the one after `when`, "
        "which reads columns, holds: of the unlabelled data, if training has some, else of the training data, their "
        "labels free. It costs strength · places · KL(target ‖ r), where the target is `share`, or that of `least` and "
        "`most` which is nearer, and nothing between these two. The likelihood alone takes it, by steps over all data.",
        "expect chunk is not O with least = 0.4, most = 0.7\nexpect chunk is O when pos is SYM with share = 0.9",
    ),
    "infer": (
        "infer METHOD(…)", "The inference method of training and tagging.", "Without it, `auto`.", "infer exact",
    ),
    "decode": (
        "decode RULE", "How labels are chosen.", "Without it, what the criterion trains for, mostly `joint`.",
        "decode marginal",
    ),
    "train": (
        "train CRITERION(…) [as NAME] [after NAME] [: SETTING = …, …]",
        "A stage of training: what is minimised, by which optimizer, with which prior.",
        "A stage `after` another begins with its weights. `train` on the command line runs the last stage and those "
        "that "
        "it comes after; `--stage NAME` runs another. A stage without a name has its criterion's.",
        "train likelihood as map: prior = gaussian(variance = 10)\ntrain mce(loss = label(chunk)) as errors after map",
    ),
    "evaluate": (
        "evaluate METRIC, …",
        "What `eval`, `train --dev` and `train --tune` measure. The first metric decides.",
        "Without it, `segments` for labels with segments, else `accuracy`, and `joint_accuracy` for several labels.",
        "evaluate segments(chunk), accuracy(chunk), sentence_accuracy",
    ),
}  # fmt: skip


def statement_entries() -> Iterator[ReferenceEntry]:
    """An entry a statement, and one an option."""
    rules = _grammar_rules()
    for keyword in KEYWORDS:
        usage, summary, text, example = STATEMENTS[keyword]
        grammar = "\n".join(rules[rule] for rule in RULES.get(keyword, (keyword,)))
        synonyms = tuple(word for word, meant in SYNONYMS.items() if meant == keyword)
        settings = stage_settings() if keyword == "train" else options_of(keyword)
        yield ReferenceEntry(
            "statement", keyword, usage, summary, text, grammar=grammar, settings=settings, example=example,
            written_out=STAGE_EXAMPLES["train"] if keyword == "train" else "", synonyms=synonyms,
        )  # fmt: skip
    for keyword in KEYWORDS:
        for option in options_of(keyword):
            summary = f"{option.meaning[0].upper()}{option.meaning[1:]}."
            yield ReferenceEntry(
                f"option of `{keyword}`", option.name, f"{keyword} … with {option.name} = {option.type}", summary,
                f"Default: {option.default}.", example=option.example,
            )  # fmt: skip


def options_of(keyword: str) -> tuple[SettingEntry, ...]:
    """The options of a statement, as the reference describes them."""
    kind = BY_KEYWORD.get(keyword)
    options = kind.with_options.get(keyword, {}) if kind is not None else {}
    return tuple(
        SettingEntry(name, option.type, option.default, "", "", option.meaning, option.example)
        for name, option in options.items()
    )


def _grammar_rules() -> dict[str, str]:
    """Each rule of the grammar with its text."""
    text = resource_path("grammar/dcrf.lark").read_text(encoding="utf-8")
    return {rule[1]: rule[0] for rule in re.finditer(r"^\??(\w+):[^\n]*(?:\n[ ]+[|][^\n]*)*", text, re.MULTILINE)}
