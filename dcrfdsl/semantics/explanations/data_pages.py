"""Pages on files, data, gold labels, lexicons and feature functions of the user. See `pages`."""

from __future__ import annotations

from collections.abc import Mapping

DATA: Mapping[str, tuple[str, str]] = {
    "segment-too-long": (
        "`segment y up to N` gives probability 0 to longer segments, and the gold labels have some.",
        "Raise the limit to the longest one; or write `with longer = together`, so that longer ones are possible, have "
        "one length, and no other feature of the list.",
    ),
    "unscaled-number": (
        "A column of numbers among the features is far from 0 compared with its changes, or these are far from 1. A "
        "weight is in units of its column, and the prior is on the weight: a column far from 0 needs a large weight "
        "and a bias against it.",
        "Subtract the mean and divide by the spread, in all data alike; or write `bin(column, 8)`; or name the clique, "
        "as in `clique y as numbers: bias, column`, and leave it without a prior: `prior.numbers = none`.",
    ),
    "mixed-sentence": (
        "A label `for sentence` has one value in a sentence, and its column has several in this one.",
        "Correct the data; mark tokens that say nothing by the label's `missing`. For a label of tokens, leave out "
        "`for sentence`.",
    ),
    # files
    "binary-file": (
        "The data file has bytes that no text has: it is compressed, or of another program.",
        "Unpack or export it; data files are text in UTF-8.",
    ),
    "disk-full": (
        "The disk has no room for the file. A file that was there before is unchanged.",
        "Free some space, or write to another disk.",
    ),
    "data-warning": (
        "The data can be read, and something in it is odd, which the message names.",
        "Look at the place. If the data is meant so, nothing has to be done.",
    ),
    "unknown-schema": (
        "No output of a command has this name.",
        "`dcrfdsl schema` lists the outputs that have a schema.",
    ),
    "file-error": (
        "The operating system does not let the file be read or the output be written, for the reason in the message.",
        "Check the path and the state of the disk.",
    ),
    "no-file": (
        "The template or model cannot be read.",
        "Check the path. The path of `use` is relative to the file that uses it.",
    ),
    "no-such-directory": (
        "The file is to be written to a directory that does not exist. This is checked before training.",
        "Create the directory, or correct the path.",
    ),
    "no-text": (
        "The template is not a text in UTF-8, or is far too large to be one.",
        "Save it as UTF-8, without binary data. Data and lexicons are in files of their own.",
    ),
    "not-utf8": (
        "The data file or lexicon has bytes that are no UTF-8: it has another encoding, or is damaged.",
        "Convert it: `iconv -f ISO-8859-1 -t UTF-8 old.txt > new.txt`, with the encoding that it has.",
    ),
    "read-only-target": (
        "This user may not write the file, or may not create files in its directory.",
        "Choose another place, or change the permissions.",
    ),
    "target-is-directory": (
        "A file is to be written under the name of a directory.",
        "Give the name of a file in it.",
    ),
    "unreadable-file": (
        "The file is there and this user may not read it; or it is a graph that is missing or is no text.",
        "Check the path, or change the permissions of the file.",
    ),
    # data
    "bad-header": (
        "The names of the columns, in the first row of the file, cannot be used: one comes twice, or they come again.",
        "Give each column a name of its own; leave the names out where files are joined.",
    ),
    "bad-id": (
        "The first column of CoNLL-U numbers the tokens, and this is no such number.",
        "Write `1`, a range `1-2` of a token of several words, or `1.1` for an empty node.",
    ),
    "bad-json": (
        "The line is not JSON, or has a number or a nesting that cannot be read or written as JSON.",
        "Correct the line: a file of the format `jsonl` has a sentence a line, each a JSON value.",
    ),
    "bad-line-end": (
        "A carriage return stands alone: it ends a line in files of old Macs only, and may be damage elsewhere.",
        "Convert the file: `tr '\\r' '\\n' < old > new`; or enclose the cell in quotes.",
    ),
    "bad-parquet": (
        "The file is no Parquet, is cut off, or comes through a pipe, which cannot be read from its end.",
        "Write it again, or to a file first.",
    ),
    "bad-quote": (
        "A quote stands inside a cell that it does not enclose, or the one that opens a cell is never closed.",
        'Enclose the cell and double its quotes (`"5"" disk"`), or declare `quote = "none"` if they are characters.',
    ),
    "bad-sentence": (
        "A sentence is neither an object of lists of equal length nor a list of tokens that are all alike.",
        'Write `{"word": ["the", "dog"], "pos": ["DT", "NN"]}` or `[["the", "DT"], ["dog", "NN"]]`.',
    ),
    "bad-span": (
        "A span has no label, or offsets that its text does not have.",
        'Correct it. Offsets count characters from 0, and the end is excluded; `offsets = "utf16"` counts as '
        "JavaScript does.",
    ),
    "bad-token": (
        "The tokens that a line gives are not those of its text, in their order.",
        'Correct them, or let a tokenizer cut the text: `tokenizer = "words"`.',
    ),
    "label-count": (
        "An estimator was given more or fewer labels than there are tokens, or held-out sentences without labels.",
        "`y` has a list of labels for each sentence of `X`, and a label for each of its tokens.",
    ),
    "bad-importance": (
        "An importance is a number of 0 or more from a column of the data, the same on all tokens of a sentence unless "
        "it is of tokens; some are more than 0.",
        "Correct the data, or write `importance = tokens(COLUMN)` where tokens differ.",
    ),
    "cannot-weigh": (
        "A factor of sentences belongs to a sum over sentences, and one of tokens to a sum over tokens.",
        "Train by what the message names, or leave `importance` out.",
    ),
    "bad-value": (
        "The value is not of its column's type: a text, a finite number, or a vector of a length.",
        "Correct the value, or the type of the column in `data`.",
    ),
    "column-count": (
        "A line or token has more or fewer columns than the format or the `data` statement says.",
        "Correct the line or the statement; check also what separates the columns, white space or TABs.",
    ),
    "empty-cell": (
        "A column of CoNLL-U has no text; one without a value has an underscore.",
        "Write `_` where nothing is known.",
    ),
    "empty-file": (
        "The data has no sentence with a token, so nothing can be learned or scored.",
        "Check the path, and whether the program that writes the file has ended.",
    ),
    "misaligned-span": (
        "A labelled span begins or ends inside a token, or holds none, so that no labels of tokens say the same.",
        'Correct it, choose another tokenizer (characters fit any span), or `misaligned = "widen"` or `"skip"`.',
    ),
    "numbers-as-texts": (
        "A column without a type holds numbers, nearly all of them distinct. Each text is a feature of its own, with "
        "weights that no other number shares.",
        "Declare its type, as in `temp: float`, or write `bin(temp, 4)`; leave identifiers out of the features.",
    ),
    "no-sentence": (
        "Rows of a table belong to sentences by a key, and the key of this row is missing, or no column has it.",
        'Fill the column of the key, or leave out the row; `sentence = "NAME"` in `data` names the column.',
    ),
    "no-sentence-end": (
        "No blank line ends a sentence within many megabytes, so the file is most likely no data in columns.",
        "Put a blank line after each sentence, or name the format that the file has.",
    ),
    "overlapping-span": (
        "Two spans share a token, and a label has one state there.",
        "Correct them, read them as two labels that each name their types (`label place in bio(LOC) with others = O`), "
        'or declare `overlapping = "longest"`.',
    ),
    "split-sentence": (
        "The rows of a sentence are apart: rows of another sentence lie between them.",
        "Sort the rows by sentence, or give each sentence a key of its own.",
    ),
    "unwritable-cell": (
        "A value cannot be written in this format: it has a separator or line end that nothing encloses, or is empty.",
        "Choose another separator, quotes, or a format that holds any text: `csv`, `jsonl`.",
    ),
    # what the data lacks
    "silent-feature": (
        "No position of the training data gives this feature a value, or too few for its `min_count`.",
        "Look at its spelling and its column, or leave it out.",
    ),
    "idle-lexicon": (
        "Almost no token of the training data is an entry of the lexicon.",
        "Compare it with a fitting column in its case (`lower(word) in days`); `span` marks entries of several words.",
    ),
    # gold labels
    "broken-constraint": (
        "Gold labels break a `forbid`, `require` or `once`; the model gives such a sentence probability 0.",
        "Correct the data, or relax or remove the constraint.",
    ),
    "broken-scheme": (
        "The gold labels have a move that their scheme does not allow, such as `I-NP` after `O`.",
        "Correct or convert the data, or allow every move by `with constrain = no`.",
    ),
    "empty-label": (
        "A token has no label: the cell of its label is empty, and no state is learned from that.",
        'Fill the cell; where the label is not known, declare `with missing = ""`.',
    ),
    "empty-member": (
        "A cell that holds a set of possible labels, as in `A|B`, has a member without text.",
        "Remove the mark that is too many; if the value is a state that contains the mark, declare another mark.",
    ),
    "not-a-segment": (
        "The gold value does not have the form of the label's scheme, as `B-NP` has that of `bio`.",
        "Name the scheme that the data has, or read other values as one state by `with others = O`.",
    ),
    "unknown-label": (
        "The gold value is none of the label's states: its declaration does not list it, or the model never saw it.",
        "Correct the value, add it to the states, or read unknown values as one state by `with others = STATE`.",
    ),
    "unknown-states": (
        "Nothing tells the states of a variable: neither its declaration nor a known value in the data.",
        "Declare them: `label y in {A, B}`.",
    ),
    # lexicons, feature functions
    "bad-column-type": (
        "A vector column of a model that was made in Python has no size, so its components cannot be features.",
        "Give it its size, as in `vec:vector(50)`.",
    ),
    "bad-result": (
        "A feature function of yours returns something that no feature can have as its value, or an inference method "
        "of yours something that is no answer.",
        "Return a text, several texts, a truth, a finite number, a mapping of names to finite numbers, or None; of a "
        "whole sentence a list of these, one a token. An inference method returns log Z and a table of probabilities "
        "for each factor.",
    ),
    "feature-file": (
        "The file given by `--features` cannot be read, is not Python, raises an error, or marks no function "
        "and defines no inference method.",
        "Correct it; `@dcrfdsl.feature` stands above each function.",
    ),
    "feature-function-failed": (
        "A feature function of yours raises an error for a value of the data, or an inference method of yours for a "
        "graph.",
        "Correct the function where the message points; it must give a result for every value.",
    ),
    "feature-name-taken": (
        "A feature function of yours has the name of a built-in one or of another one of yours, or an inference method "
        "of yours that of a built-in one.",
        "Rename yours.",
    ),
    "lexicon-too-large": (
        "The lexicon has more megabytes than are read; a model holds its lexicons.",
        "Leave out entries that the data does not have, or make a column of the data from it.",
    ),
    "changed-feature-function": (
        "A feature function of yours has another text than when the model was trained. If it gives other results, the "
        "model sees other features than it has learned weights for, and its labels are worse.",
        "Load the file as it was at training, or train the model again. If the results are the same, all is well.",
    ),
    "missing-feature-function": (
        "The model was trained with feature functions of yours, and they are not loaded.",
        "Load the file that defines them: `--features FILE.py`.",
    ),
    "mixed-results": (
        "A feature function of yours gives values of different kinds, such as a text here and a number there.",
        "Let it always give texts, always truths, always numbers, or always mappings.",
    ),
    "too-many-pairs": (
        "A clique with `where` joins so many pairs of positions in the data that they do not fit into memory.",
        "Join fewer: `link = next`, a `max_gap`, or a condition that fewer positions share.",
    ),
}
