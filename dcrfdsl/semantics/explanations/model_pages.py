"""Pages on model files, training, inference, metrics and the command line. See `pages`."""

from __future__ import annotations

from collections.abc import Mapping

MODEL: Mapping[str, tuple[str, str]] = {
    # model files
    "corrupt-model": (
        "The model file is not as it was written: its checksum is wrong, or its parts do not fit each other.",
        "Copy it again from where it was written, or train again.",
    ),
    "crfsuite-differs": (
        "CRFsuite opens the model that was written, but something about it is not as it is here.",
        "Follow the message: it says what the items must have, or what CRFsuite does in another way.",
    ),
    "newer-model": (
        "Another version of dcrfdsl wrote the model in a format that this version does not read.",
        "Install that version or a newer one: `pip install --upgrade dcrfdsl`.",
    ),
    "not-a-model": (
        "The file was never a model; it may be a template or data, or a model of another tool.",
        "Give the file that `dcrfdsl train … -o MODEL` has written; `dcrfdsl convert` reads models of CRFsuite.",
    ),
    "not-for-crfsuite": (
        "CRFsuite has one label, attributes of single positions and moves between neighbours; the model has more.",
        "Leave out what the message names, or tag with `dcrfdsl tag`.",
    ),
    "truncated-model": (
        "The model file ends before its content is complete, so copying or writing it was interrupted.",
        "Copy it again, or train again.",
    ),
    # training
    "cannot-calibrate": (
        "No finite temperature makes the model's probabilities fit the data best, so they cannot be calibrated on it.",
        "Calibrate on other data, or on more of it: data that the model has not been trained on.",
    ),
    "cannot-start-from": (
        "A model to start from gives a new one its weights of the same clique, feature and states, and there are none.",
        "Start from a model of the same columns, labels and features; `dcrfdsl show MODEL` lists its weights.",
    ),
    "idle-start": (
        "The stage is solved at once or from weights of zero, so the weights of an earlier model make no difference.",
        "Train without `--from`; or begin with a stage that improves weights step by step, such as `likelihood`.",
    ),
    "prior-without-model": (
        "A prior keeps weights near those of an earlier model (`mean = model`), and there is none.",
        "Name the model: `dcrfdsl train … --from MODEL`; or write `mean = zero`.",
    ),
    "cannot-keep": (
        "`keep` trains all weights by their gradient, leaves out the smallest, and trains the others on.",
        "Take a criterion and an optimizer that the message names, or `prior = laplace`, which makes weights 0 too.",
    ),
    "bad-tie": (
        "A prior around another clique draws each weight towards that of the same feature and states there: it belongs "
        "to one clique, and the other one joins as many variables and is not drawn back.",
        "Write `prior.NAME = gaussian(mean = OTHER)` for cliques alike, or `mean = zero`.",
    ),
    "no-checkpoint": (
        "A training that is broken off leaves a checkpoint beside the model file, and there is none to go on from.",
        "Train without `--resume`. Checkpoints are written once a minute, and when training is asked to stop.",
    ),
    "cannot-resume": (
        "The checkpoint is of a training with another template, other settings, other data, or another text of a "
        "lexicon, of a file of states or of a feature function, so going on from it would give a model that belongs to "
        "neither. Or the file was changed since it was written.",
        "Give the template, settings and files of that training again; or train anew, without `--resume`.",
    ),
    "lost-trial": (
        "Each trial of a search with several jobs runs in a process of its own, and so does each fold of a "
        "cross-validation. One of these has died. Most often the system ended it because memory ran out.",
        "Run fewer at once: a smaller `--jobs`, or `jobs` in Python. Each takes as much memory as a training.",
    ),
    "not-finite": (
        "Training has led to weights or an objective that are infinite or no number: its steps were too long, or a "
        "column of numbers is too large. Such a model could tag nothing, so none is made, and no file is written.",
        "Take a smaller `rate` or `max_step`, or an optimizer that chooses its steps, as `auto`; divide large numbers "
        "in the data by a power of ten.",
    ),
    "lost-restart": (
        "With `--jobs` the restarts of a stage run in processes of their own, and one of these has died. Most often "
        "the system ended it because memory ran out.",
        "Run fewer at once: a smaller `--jobs`. Each takes as much memory as a training.",
    ),
    "bad-folds": (
        "Cross-validation leaves out one fold after another. Every fold needs a sentence, or a group of them that stay "
        "together by the value of a column.",
        "Take fewer folds: `--folds 3`, or `folds` in Python; or name a column of texts for the groups.",
    ),
    "lost-process": (
        "With several jobs the text is tagged by processes, and one of these has died. Most often the system ended it "
        "because memory ran out.",
        "Use fewer `--jobs`. Each process needs memory for a part of the text, beside the model, which they share.",
    ),
    "nothing-to-rescale": (
        "`rescale` multiplies weights that an earlier stage trained by factors, and no stage comes before it.",
        "Write `train rescale after STAGE`.",
    ),
    "piece-conditions-on-unknown": (
        "A piece conditions on the gold values of the variables around it, and one of them is not known in the data.",
        "Train by `likelihood` or `piecewise`, which sum it out, or make the piece over this variable as well.",
    ),
    "piece-too-large": (
        "A piece has more joint states than can be listed, or than fit into a table.",
        "Make it over fewer variables, leave out `nota`, or write `decode joint`, as the message says.",
    ),
    "shared-by-pieces": (
        "`rescale` with `per = piece` has a factor for each piece, and two pieces train the same weights.",
        "Write `per = clique`.",
    ),
    "too-many-cases": (
        "A piece with `nota` is compared under every joint value that it conditions on, and those are too many.",
        "Raise `max_cases`, let pieces condition on less, or write `nota = all(reach = one)`.",
    ),
    # inference
    "bad-uai": (
        "The file is not a graph in the UAI format, or not evidence about that graph.",
        "Correct it where the message points: the numbers of variables, states and entries must agree.",
    ),
    "no-assignment": (
        "Every assignment of the graph has potential 0, so it has no distribution and no best assignment.",
        "Look for tables that contradict each other or the evidence.",
    ),
    "no-labelling": (
        "Every labelling of the sentence breaks a constraint of the model, or disagrees with the labels given.",
        "Look at the labels given, or weaken the constraint; `predict` and `dcrfdsl tag` go on without such sentences.",
    ),
    "too-wide": (
        "Exact inference would build a larger table than is allowed: the variables are joined too densely.",
        "Use `infer trp`, join fewer positions, or raise `max_table` if there is memory for it.",
    ),
    "too-many-cells": (
        "`infer ep` keeps tables along the path of each clique outside of its tree. Here paths are long, and states "
        "many.",
        "Use `ep(family = factored)`, which keeps no paths, or `infer trp`.",
    ),
    "too-many-regions": (
        "`infer gbp` takes clusters of variables and all regions that clusters share; here there are too many of them.",
        "Use a smaller `size`, `clusters = factors`, which has the fewest regions, or `infer trp`.",
    ),
    # metrics
    "bad-metric": (
        "The metric does not exist, or cannot be computed here: its arguments are wrong, or something is not known.",
        "The message says what is expected; `dcrfdsl explain evaluate` describes the statement.",
    ),
    # commands
    "exchanged-arguments": (
        "The data stands where the template belongs, and the other way round.",
        "Write the template first: `dcrfdsl train TEMPLATE DATA -o MODEL`.",
    ),
    "file-exists": (
        "`dcrfdsl new` and `dcrfdsl convert` do not replace a file, and `dcrfdsl train` does not replace a file "
        "`MODEL.checkpoint` that is no checkpoint.",
        "Choose another name, or remove the file first.",
    ),
    "idle-apart": (
        "`--apart` keeps gold labels where predictions would take their place, which they do not in this format.",
        "Leave out `--apart`.",
    ),
    "idle-nodes": (
        "`--nodes` asks for an upper bound on the score of the best assignment, and another task was asked for.",
        "Write `--task map`, or leave `--nodes` out.",
    ),
    "idle-decode": (
        "`--nbest` lists labellings from the most to the less probable, and no way to decode changes this order.",
        "Leave out `--decode` or `--nbest`.",
    ),
    "missing-package": (
        "The method or the format needs a Python package that is not installed.",
        "Install it as the message says, or choose another method or format.",
    ),
    "cannot-prune": (
        "Pruned inference goes along one label from left to right, and looks up runs of up to four labels that "
        "training has seen. Other graphs, and other criteria, have no lattice.",
        "Take another method, as the message says; or leave what it names to a stage with `infer = exact`.",
    ),
    "cannot-segment": (
        "A `segment` statement weighs whole segments. Criteria that normalise or count single tokens do not see these "
        "weights, nor do kernels, export, and training on data in parts. For all others segments are a part of the "
        "graph: a memory says of each token how far its segment has come.",
        "Change what the message names, or leave out the `segment` statement.",
    ),
    "sentence-label": (
        "A label `for sentence` is one variable of the whole sentence. It has no positions, marks no segments, and is "
        "in no chain; methods and criteria that go along the tokens of one do not reach it.",
        "Name it without a place, `intent` for `intent[-1]`; else change what the message names, or declare the label "
        "without `for sentence`.",
    ),
    "token-in-segment": (
        "The list of a `segment` statement describes whole segments, and a column is read at one token.",
        "Say which: `joined(word)` for all tokens as one text, `any(word)` for each of them, `first(word)` or "
        "`last(word)`. A feature group belongs into a `clique`.",
    ),
    "cannot-guide": (
        "Pruned inference by `by = NAME` goes by the marginals of a training stage that runs before, or of a view of "
        "the label with cliques of its own on neighbours. Both must be known when pruning begins.",
        "Train the stage first and name it in `after`, with an inference of its own; or give the view a clique, as in "
        "`clique coarse[-1], coarse`.",
    ),
    "cannot-export": (
        "An exported tagger does exact inference with built-in features and one set of weights, and a `.uai` file has "
        "tables of finite numbers; the model needs more.",
        "The message names the statement: train without it, or tag with `dcrfdsl tag`.",
    ),
    "idle-option": (
        "An option of the command has no effect together with another one.",
        "Leave one of the two out.",
    ),
    "needs-to": (
        "`--template` says how data are read, and `convert` is not told that the file is data.",
        "Add the format that the data are to have: `--to FORMAT`.",
    ),
    "needs-json": (
        "Marginals of cliques belong to several tokens, and have no place in the columns of a token.",
        "Add `--json`.",
    ),
    "no-demo-data": (
        "The demo trains on a treebank, and the package that has it is not installed.",
        "Install it: `pip install 'dcrfdsl[demo]'`.",
    ),
    "no-dev-data": (
        "`--tune` compares settings on held-out data, and none is given.",
        "Give it by `--dev FILE`.",
    ),
    "cluster-lost": (
        "The scheduler of the cluster, or its last worker, is gone, so the training cannot go on there.",
        "Start the cluster again, then the same command with `--resume`: it goes on from the checkpoint.",
    ),
    "damaged-cache": (
        "A file in the folder of parts cannot be read: it was changed, or a disk lost some of it.",
        "Remove the folder that the message names and run the command again: what was there is made anew.",
    ),
    "no-cluster": (
        "No scheduler of Dask answers at the address that `--cluster` names.",
        "Start one by `dask scheduler` and name the address that it prints, as `tcp://HOST:8786`.",
    ),
    "no-shared-folder": (
        "Workers of a cluster do not see the folder of parts, which all machines have to share.",
        "Name a folder on a shared disk: `--cache DIR`.",
    ),
    "no-sum-over-parts": (
        "The stage is no sum over sentences of value and gradient, or its optimizer needs more than the sum, so it "
        "cannot train on data in parts.",
        "Train by a criterion and an optimizer that the message names, or on data that fits in memory.",
    ),
    "bad-level": (
        "A level of confidence is a share: intervals hold a score that often.",
        "Give a number between 0 and 1, as `--level 0.95`.",
    ),
    "nothing-to-compare": (
        "There are fewer than two models to compare, or they have no label in common.",
        "Name two model files of one task or more, and the data behind them.",
    ),
    "other-sentences": (
        "The models read different sentences from the data, so their scores cannot be compared.",
        "Compare models whose templates cut the data into the same sentences and tokens.",
    ),
    "bad-event": (
        "An event is a condition over the labels of one sentence, each with a position, and the text is none.",
        "Write a condition such as `y[3] is B-LOC and y[4] is I-LOC`, `segment(y, 3, 5, LOC)` or `y = predicted`.",
    ),
    "no-gold": (
        "An event asks for the gold labels, and the data has none.",
        "Give labelled data, or ask about the labels that the model predicts: `predicted`.",
    ),
    "no-other-state": (
        "A prediction is explained by comparing it with another state, and that one is the same, or impossible there.",
        "Compare with another state: `--against STATE`; or ask about another position.",
    ),
    "no-such-label": (
        "The model has no label of this name, or several and none is named.",
        "Name one of its labels: `--label NAME`.",
    ),
    "no-such-position": (
        "The sentence has fewer tokens than the position that is asked for, or an event names a label without one.",
        "On the command line and in events positions count from 1, in calls of Python from 0; give a smaller number.",
    ),
    "no-such-sentence": (
        "The data has fewer sentences than the number that is asked for, or several where the call takes one.",
        "Sentences count from 1; give a smaller number.",
    ),
    "no-such-state": (
        "The label has no state of this name.",
        "The message names the nearest one, or lists them.",
    ),
    "out-of-memory": (
        "The computation needs more memory than there is. Where the tables of a model are the reason, the message "
        "names the statements whose states multiply.",
        "Make these statements smaller, train on fewer sentences or features, with fewer `--threads`, or on a larger "
        "machine.",
    ),
    "idle-guide": (
        "`infer pruned(by = VIEW)` lists the labels that survive by what neighbours tell through the view. In this "
        "data the view has one state, as XPOS in a treebank without it, so it tells nothing.",
        "Name a view with several states after `by`, or leave it out.",
    ),
    "too-large": (
        "The tables, weights or joined pairs of the model take very much memory. This is estimated from the states of "
        "each statement before anything is built: an error where it is more than the machine, its container or "
        "`ulimit -v` leaves, a warning from 1 GB on. The message names the statements that take most, with the states "
        "that multiply.",
        "Make the named statements smaller: fewer states, fewer positions, shorter segments, fewer joined pairs.",
    ),
    "output-is-input": (
        "The command would replace a file that it reads, of whatever kind: data and folders of data, models, templates "
        "and what they use, lexicons, files of states, Python files. `train` writes and removes `MODEL.checkpoint` and "
        "`MODEL.parts` beside the model, so no input may have these names either.",
        "Name another file after `-o`, or after the option that the message names.",
    ),
    "too-many-sentences": (
        "The demo holds back sentences for testing, and fewer are left than it is to train on.",
        "Give a smaller number after `--sentences`.",
    ),
    "unknown-slug": (
        "`--explain` explains the word in brackets at the beginning of a message, and no message has this one.",
        "Copy the word from the message: `error[unknown-name]` is explained by `--explain unknown-name`.",
    ),
    "unknown-template": (
        "There is no ready-made template of this name.",
        "`dcrfdsl new` lists them.",
    ),
    "unknown-word": (
        "`dcrfdsl explain` explains words of the language and kinds of message, and the word is neither.",
        "Correct the spelling; `dcrfdsl explain` without a word lists all.",
    ),
}
