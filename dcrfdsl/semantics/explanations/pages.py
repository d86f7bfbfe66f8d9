"""A page for every slug: the meaning of the message, and the remedy. `dcrfdsl check --explain SLUG` prints it.

`EXPLANATIONS` is the table; a test checks that it has a page for every slug of the package, and no other page. The
pages of the checker stand here; those of texts, data files and models in the modules beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...foundation import Table
from .data_pages import DATA
from .model_pages import MODEL
from .syntax_pages import CONVERSION, SYNTAX

CONSTRAINTS: Mapping[str, tuple[str, str]] = {
    "contradictory": (
        "No labelling can satisfy the constraint, by itself or together with what else holds.",
        "Weaken or remove one of those that the message shows.",
    ),
    "once-not-a-label": (
        "`once` says that each segment, or state, of a label occurs at most once; what it names is no label.",
        "Name a label.",
    ),
    "once-twice": (
        "Two `once` name the same label.",
        "Join them: what may come again stands in one list after `except`.",
    ),
    "once-unknown-type": (
        "What stands after `except` is no type of the label's segments, and without segments none of its states.",
        "Name types, as `STREET` for `B-STREET` and `I-STREET`. `O` need not be named.",
    ),
    "no-bound": (
        "`decode certified` and `decode optimal` bound what any labelling scores. That needs the potentials of all "
        "labels at once, and labels alone: a latent variable is summed out, and `infer pruned` leaves most labels out.",
        "Write `decode joint`, or leave the latent variable out, or choose another `infer`.",
    ),
    "once-not-exact": (
        "`once` holds on whole sequences. Up to about nine types it is a part of the graph; with more, decoding "
        "searches for labellings that keep to it. What is named here can do neither.",
        "Write `infer exact` and `decode joint`, or bind fewer types by `except`. Beside a clique with `where` nothing "
        "keeps to `once`.",
    ),
    "already-implied": ("The constraint forbids nothing that is not forbidden already.", "Remove it, or correct it."),
    "needs-when": (
        "A `require` holds wherever it lies, whatever the data says there; a test of the data in it must then be true.",
        "A condition that must be met first is written after `when`: `require chunk is O when word is the`.",
    ),
    "label-as-argument": (
        "Functions and lexicons are evaluated on the data before anything is predicted; a label has no value then.",
        "Map the label's states by a `view` and test the view, list states in `{…}`, or use a regex.",
    ),
    "reads-too-much": (
        "A condition is tried on every combination of the states and of the readings of the data that it names.",
        "Write several constraints that read fewer things each, or let a memory keep what several positions say.",
    ),
    "no-label-in-constraint": (
        "A constraint restricts labels, and this condition reads only what is observed.",
        "Name a label in it.",
    ),
}


IDLE: Mapping[str, tuple[str, str]] = {
    "bad-name": (
        "A model that was made in Python has a name or state that reads as something else in a template.",
        "Rename it: names are letters, digits and `_`.",
    ),
    "bad-specification": (
        "A specification that was made in Python has a field that no template could give it, or cannot be written.",
        "Build it with `dcrfdsl.Template`, or read it from a text with `load_text`; `model_copy` looks at nothing.",
    ),
    "idle-constant": (
        "No setting, feature or other constant in use names this constant: its value changes nothing.",
        "Name it where its value is meant to count, or remove it.",
    ),
    "idle-group": (
        "No clique lists this group of features, itself or by way of another group: the model does not see them.",
        "List the group in a clique, or remove it. Groups of a file that is used by `use` may stay idle.",
    ),
    "metric-of-nothing": (
        "A metric counts what the data does not have, such as segments where all is outside; its value says nothing.",
        "Score on data that has what is measured, or choose another metric.",
    ),
    "one-state": (
        "A label with a single state is always right, and a model of it learns nothing.",
        "Declare its other states, or look whether the data has its values in another column.",
    ),
    "same-clique": (
        "Two cliques have the same variables and features, or neither has a name and both are called the same.",
        "Remove one, join their features in one list, or name them with `as NAME`.",
    ),
    "unseen-state": (
        "A label declares, or a constraint names, a state or a type of segments that the training data never has.",
        "Correct its spelling or the data's column, or remove it: what has no example is never predicted.",
    ),
}


@dataclass(frozen=True)
class Explanation:
    """The reason for the problem, in one sentence, and the remedy."""

    meaning: str
    remedy: str


_MEANING: dict[str, tuple[str, str]] = {
    # names
    "unknown-name": (
        "The name is declared nowhere: not in `data`, nor by a statement.",
        "Correct the spelling, or declare it. A name stands for the current position, `word[-1]` for the one before.",
    ),
    "unknown-function": (
        "What is called here is no built-in feature function, no lexicon and none of your own functions.",
        "Correct the spelling, or load the file that defines it with `--features FILE.py`.",
    ),
    "unknown-clique": ("No clique has this name.", "Name the clique where it is declared: `clique y[-1], y as chain`."),
    "unknown-piece": ("No piece has this name.", "Declare it: `piece next over y: chain, words`."),
    "piece-over": (
        "A piece is normalised over labels and latent variables: at single positions, or at every one by `[all]`.",
        "Name each of these once, and hold a clique over it; memories and views follow from the labels.",
    ),
    "piece-member": (
        "A clique of a piece touches none of the piece's own variables, is held twice, or cannot be moved.",
        "An index moves a clique: `chain[1]` is the one at the next position. Remove cliques that do not take part.",
    ),
    "piece-locked": (
        "A locked clique takes part in a piece and gets no gradient from it; where all are locked, nothing is trained.",
        "Remove `locked` from the cliques that the piece is to train.",
    ),
    "piece-twice": (
        "A stage that names a piece twice counts its losses twice.",
        "Name it once; to weigh pieces against each other, train them in stages and add `train rescale`.",
    ),
    "piece-without-instance": (
        "A piece lies where all its variables are in the sentence, and no sentence of the data is so long.",
        "Make it over positions that are less far apart.",
    ),
    "nota-everywhere": (
        "NOTA is one more joint state of a piece; one over whole sequences has too many to go through.",
        "Make the piece over single positions, or leave out `nota`.",
    ),
    "piece-conditions-on-latent": (
        "A piece conditions on every other variable that its cliques touch, at the gold value; a latent has none.",
        "Make the piece over the latent variable as well.",
    ),
    "no-pieces": (
        "Local decoding goes by pieces at single positions, and no stage that runs trains any.",
        "Train by `memm` or `piecewise`, or write `decode joint`.",
    ),
    "no-order": (
        "A model that is normalised variable by variable needs fixed places, which positions that data joins have not.",
        "Train by `pseudolikelihood`, `piecewise` or `likelihood`.",
    ),
    "unknown-stage": (
        "No training stage has this name.",
        "A stage is named by `train … as NAME`, else by its criterion.",
    ),
    "unknown-position": (
        "A named position such as `[i]` has a meaning only in a clique whose sites have positions of that name.",
        "Use the clique's own positions, or a number: `word[-1]` is the word before.",
    ),
    "unknown-column": ("The data format has no column of this name.", "Name one that it has; `word = form` renames."),
    "unknown-format": (
        "There is no format of this name, of data or of a learning curve.",
        "The message lists the formats; `dcrfdsl explain csv` describes one. A curve is written as `.csv` or `.jsonl`.",
    ),
    "unknown-metric": (
        "There is no metric of this name.",
        "`dcrfdsl explain evaluate` describes the statement, and `dcrfdsl explain accuracy` a metric.",
    ),
    "unknown-method": (
        "There is no inference method, prior, optimizer, criterion or way to decode of this name.",
        "The message lists those that there are.",
    ),
    "declared-twice": (
        "A name, a statement or a setting is given twice; only one could count.",
        "Rename or remove one.",
    ),
    "label-as-feature": (
        "A feature that reads a label would know what the model is to predict.",
        "Features read what is observed. To depend on a neighbouring label, make it a site: `clique y[-1], y`.",
    ),
    "label-not-a-column": (
        "A label's gold values are read from the column of its name, and the data has none.",
        "Add the column to the `data` statement, or correct the name.",
    ),
    "wrong-kind": (
        "The name is declared, but as something that cannot stand here.",
        "The message says what is needed.",
    ),
    # data
    "no-data": (
        "Without a `data` statement nothing is known about the columns.",
        "Begin with `data conll(word, pos)`.",
    ),
    "no-label": ("A model without a label predicts nothing.", "Declare what is to be predicted: `label pos`."),
    "missing-column": (
        "The data set does not have a column that the template declares or the command needs.",
        "Correct `data`, or the file.",
    ),
    "missing-label": (
        "The data set has no gold values for a label; training needs them.",
        "Train on data with this column. It may be absent when tagging.",
    ),
    "column-type": (
        "The template declares another kind of column than the data set has, or than the format can have.",
        "Type the column in `data`: `height:float`, `attributes: weighted_bag`.",
    ),
    # settings
    "unknown-setting": (
        "The statement or method has no setting of this name; perhaps another one has.",
        "Correct the spelling, or move the setting to where it belongs.",
    ),
    "bad-setting": ("The value is of the wrong kind or out of range.", "The message says what is expected."),
    "idle-setting": (
        "The setting changes nothing here.",
        "Remove it. What is about joined positions needs named positions and a `where`; a prior needs a criterion with "
        "a penalty.",
    ),
    "nothing-to-tune": (
        "`train --tune` searches the constants that have a range, and none has one that is not set by hand.",
        "Give a constant its range, `let variance = 10 tune log(0.1, 1000)`, and do not `--set` it.",
    ),
    "bad-argument": ("An argument is missing, one too many, or of the wrong kind.", "The message shows the usage."),
    "bad-regex": (
        "RE2 cannot read the regular expression. It runs in linear time: no look-around, no back references.",
        "Correct the pattern where the caret points.",
    ),
    "ascii-class": (
        r"`[A-Z]`, `[a-z]` and `\w` are ASCII, and there are other letters here.",
        r"Use `\p{Lu}`, `\p{Ll}`, `\p{L}`.",
    ),
    "unknown-state": ("A variable cannot have this state.", "Correct the spelling, or add it to the declared states."),
    "state-twice": ("A state or segment type stands twice in its declaration.", "Remove one of them."),
    "set-as-map": (
        "A lexicon with one entry a line is a set; only a map (`entry TAB value`) can be looked up.",
        "Test membership with `word in days`, or give every line a TAB and a value.",
    ),
    "missing-lexicon": (
        "The lexicon's file cannot be read.",
        "Check the path: it is relative to the template that declares the lexicon.",
    ),
    "bad-lexicon": (
        "The lexicon is empty, or mixes lines of a set (an entry) with lines of a map (entry, TAB, value).",
        "Make all lines alike.",
    ),
    "missing-states": (
        "The file with a variable's states cannot be read, is empty, or has lines that are no text.",
        "Check the path: it is relative to the template. The file has one state a line.",
    ),
    "multi-word-entry": (
        "`word in places` compares one token with whole entries, so an entry of several words can never match.",
        "`span(word, places)` marks entries of several words.",
    ),
    "not-a-text": ("A text is needed here, and this is a number, a vector or a test.", "Read a text column."),
    "not-a-number": ("`<`, `>=` and `bin` take numbers, or texts that are numbers.", "Test a text by `is` or `in`."),
    "too-many-products": (
        "A cross of vectors has a feature for each combination of their components.",
        "List the vectors beside each other, or cross one of them with a test or a text.",
    ),
    "not-a-test": (
        "`and`, `or`, `not`, `where`, `when`, `forbid` and `require` join what is true or false.",
        "Compare the value: `word is the`, `word matches /…/`, `word in days`. Features are crossed with `&`.",
    ),
    "several-values": (
        "A comparison takes one value on each side.",
        "Use a function that gives one, such as `suffix(word, 3)`.",
    ),
    "cannot-count": (
        "A hidden Markov model has one distribution of each label given its earlier neighbours, and emits each feature "
        "from one label; `hmm` counts nothing else.",
        "Write moves as cliques without features and what is emitted as `clique y: bias, word`, or train by "
        "`likelihood`.",
    ),
    # graph
    "same-site-twice": ("A clique is a set of sites.", "Write `y[-1], y` for neighbours."),
    "no-anchor": (
        "A clique's features are read at offset 0, so one of its sites must be there.",
        "Shift the sites; the weights are shared by all positions anyway.",
    ),
    "window-in-site": ("A site is one variable at one position.", "List the sites, or write several cliques."),
    "window-in-condition": (
        "A condition on labels reads one position at a time.",
        "Join the positions by `and` or `or`.",
    ),
    "bad-window": (
        "A window is empty or too wide, or an offset too far.",
        "Windows run from left to right: `[-2..2]`.",
    ),
    "too-many-features": (
        "A cross of windows has every combination of their places, and a group counts each time it is listed.",
        "Make the windows narrower, and list a group once.",
    ),
    "group-cycle": ("A feature group contains itself.", "Remove the group from its own list."),
    "groups-too-deep": ("Too many feature groups hold each other in turn.", "List the features of the inner ones."),
    "place-without-where": (
        "Named positions such as `y[i], y[j]` need a condition that says which ones.",
        "Add `where`, as in `where word[i] = word[j]`; neighbours are written `y[-1], y`.",
    ),
    "bad-view": (
        "A view maps the states of one label at one position, many to one.",
        "Name that label in it, without brackets: `view coarse = prefix(pos, 1)`.",
    ),
    "two-positions": (
        "A clique with `where` is about two positions, and each of its sites stands at one of them.",
        "Name two positions, as in `clique y[i], y[j] where word[i] = word[j]`.",
    ),
    "no-equality": (
        "Positions are joined on values that are equal, which takes time in proportion to the pairs found. Without an "
        "equality all pairs of a sentence are tried: on one of 3,000 tokens nine million.",
        "Add an equality, as in `word[i] = word[j] and …`, or bound the distance: `with max_gap = 50`.",
    ),
    "place-in-relation": (
        "A clique that joins two positions has no anchor at which a bare name could be read.",
        "Say at which position it is read, as in `word[i]` or `word[j-1]`.",
    ),
    "two-places": ("A term has a named position inside and another one outside.", "Keep one: `lower(word[i])`."),
    "empty-gap": ("`max_gap` is below `min_gap`: no positions are that far apart.", "Correct one of them."),
    "label-without-clique": (
        "Nothing predicts this label: it has no weights.",
        "Give it a clique, as in `clique pos: bias, word`.",
    ),
    "idle-latent": (
        "No chain of cliques ties the latent variable to a label, so it is summed out to a constant.",
        "Join it with a label: `clique sense, role`.",
    ),
    # hidden variables
    "memory-future": (
        "A memory is a function of earlier labels; it must be known before the labels at its own position.",
        "Read an earlier position: `pos[-1]`.",
    ),
    "memory-cycle": (
        "Memories that read nothing but themselves and each other stay as they begin; such a memory changes nothing.",
        "Let one of them read a label, as in `memory seen = seen[-1] or pos[-1] is V`.",
    ),
    "no-initially": (
        "Before the first position nothing is remembered, so the first value must be said; a test begins as `no`.",
        "End the statement with the state: `memory last in states(role) = role[-1] initially O`.",
    ),
    "first-value": (
        "At the first token a memory is `initially`, or `no`; its expression counts from the second one on.",
        "Begin with another state, `initially yes`, or say that it begins so: `memory m = (word is a) and not first`.",
    ),
    "copied-state": (
        "The value of the memory can be something that is none of its states.",
        "Give it the states of what it copies, `in states(role)`, or exclude the value by `if`.",
    ),
    "idle-memory": (
        "No clique and no constraint reads the memory, itself or by way of another memory, so it changes nothing.",
        "Make it a site: `clique role, seen_verb`. Else leave it out.",
    ),
    "no-states": (
        "The types of a label are learned from data; of a latent variable or memory the data has no values.",
        "Name the types, `in bio(NP, VP)`, or list the states.",
    ),
    "states-cycle": (
        "Variables take their states from each other in a circle, so nothing ever says them.",
        "List the states of one of them: `in {A, B}`.",
    ),
    "mark-taken": (
        "The mark of a value that is not known, or that separates several possible ones, is part of a known one.",
        "Choose a mark that no state has, and correct the data accordingly.",
    ),
    # training, evaluation
    "stage-cycle": (
        "The stages come after each other in a circle.",
        "Leave out one `after`: its stage begins the chain.",
    ),
    "no-segments": (
        "Segments are read from states `O` and marks such as `B-X` and `I-X`; this label, or its data, has none.",
        "Measure `accuracy(y)` and train by `likelihood`, or declare the label `in bio(…)`.",
    ),
    "no-log-z": (
        "A labelling is compared with Z, the sum over all of them, and samples do not tell how large Z is.",
        "Take another method: `infer = trp` in the stage. `infer gibbs` then serves marginals and tagging.",
    ),
    "lower-bound": (
        "Mean field bounds log Z from below, by an amount that differs from labelling to labelling and from one fixed "
        "point to the next. So the objective may fall below what exact inference gives, and its gradient may jump.",
        "Train under `exact`, or under `trw`, which bounds log Z from above. `infer mean_field` then serves tagging.",
    ),
    "unread-label": (
        "A loss that names labels asks nothing of the others: their gold values do not count in this stage. By `mce` "
        "only the prior moves the weights of their cliques, so they go to 0, and what an earlier stage has taught of "
        "these labels is lost. Under `hmsvm` weights of 0 break no margin that is asked of them.",
        "Name every label that the model is to predict: `loss = label(chunk, pos)`, `loss = fscore(chunk, name)`. Or "
        "leave the weights of a clique as the stage before left them: `prior.CLIQUE = none`. Or train the other label "
        "in a model of its own.",
    ),
    "loss-settings": (
        "Losses differ in what they are made of: whole sentences by sums or by the best, stretches by the best alone.",
        "`loss = sequence` takes every `psi`, `measure` and `smoothing`. Segments need `sigmoid`, and off chains also "
        "`psi = inf`.",
    ),
    "vote-settings": (
        "A voted perceptron keeps all weights that training went through; each votes for the labelling that it finds.",
        "Leave out what the message names, or keep the mean of the weights: `average = yes`.",
    ),
    "needs-exact": (
        "A sum over all labellings but one is exact or it is nothing: messages may put it below the one left out. So "
        "a stage that needs one trains under `exact` where its tables fit, whatever `infer` says; tagging goes by it.",
        "Write `infer = exact` in the stage; for `mce` also `psi = inf`, which compares the best labellings.",
    ),
    "cannot-sum-out": (
        "The criterion looks at one labelling that is known, and some label has no known value.",
        "Write what the message names, which sums over the values that the label may have.",
    ),
    "risk-overflow": (
        "The exponential risk of a long sentence is the number of its wrong labellings, times its weight: too large.",
        "Write `weight = uniform` or a smaller `weight`, or train `after` a stage of `likelihood`.",
    ),
    "no-such-round": (
        "A model can be cut at a round of its last stage if that was `adaboost`, but not with `update = parallel`.",
        "`dcrfdsl show MODEL --path` lists the rounds.",
    ),
    "cannot-compare": (
        "An observation kernel compares two positions by the features of one clique, which lies on one label there; "
        "what is learned belongs to positions of the training data.",
        "Write `kernel.NAME = rbf(gamma = 0.1)` for cliques `clique label as NAME: features`, in a stage by itself.",
    ),
    "too-many-positions": (
        "A kernel compares all pairs of positions of the training data, and those do not fit.",
        "Train on fewer sentences, or without `kernel.…`: `hmsvm` by itself takes any number.",
    ),
    "cannot-train": (
        "The optimizer needs something that the criterion does not give: the gradient of single sequences, or counts.",
        "Take one that the message names; `optimizer = auto` is one that fits.",
    ),
    "prior-not-treated": (
        "The optimizer needs a penalty of another kind: no penalty at all, a quadratic one, or one without corners.",
        "A penalty with a corner at zero needs `owlqn` or `proximal`, and `group_lasso` needs `proximal`; `optimizer = "
        "auto` takes the one that fits. `iis` needs `prior = none`, and `induce` a prior of each weight by itself.",
    ),
    "cannot-scale": (
        "Iterative scaling needs exact expectations, features that are not negative and that the data shows, the label "
        "of every token, and no prior.",
        "Train by `lbfgs`, or change what the message names.",
    ),
    "not-yet": (
        "The language has this, and this version of the program does not run it.",
        "Use what the message names instead, or leave the statement out for now.",
    ),
    # files, constants, overrides
    "use-cycle": ("Templates use each other in a circle.", "Move what they share to a file of its own."),
    "use-too-deep": ("Too many templates use each other in turn.", "Let one of them use the others, side by side."),
    "not-judged": (
        "Together the constraints have too many combinations of states to be compared with each other.",
        "They hold all the same; only contradictions between them are not looked for.",
    ),
    "let-cycle": ("A constant is defined by itself.", "Give one of the constants of the circle a value."),
    "bad-override": (
        "`--set` takes `PATH=VALUE`, and the path must lead to a constant, `infer`, `decode` or a stage.",
        "For example `--set train.optimizer=lbfgs(max_iterations=15)`.",
    ),
    "idle-override": (
        "`--set STAGE.KEY=VALUE` names a stage that neither runs nor comes before the one that does.",
        "Run it with `--stage STAGE`, or set `train.KEY`, which is the stage that runs (the last one by default).",
    ),
}

EXPLANATIONS: Table[Explanation] = Table(
    "kind of message",
    {
        slug: Explanation(*page)
        for slug, page in sorted({**SYNTAX, **CONVERSION, **IDLE, **_MEANING, **CONSTRAINTS, **DATA, **MODEL}.items())
    },
)
