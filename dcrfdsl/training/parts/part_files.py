"""Parts of a corpus as files: their text as columns, and what training reads of them.

Each file is a file of named arrays as models are: checked by a sum, written whole or not at all, without pickle. Not
here: when they are written (`corpus_parts`, `part_learning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...data import BagColumn, Corpus, InternedColumn, NumericColumn, SoftStates
from ...features import FeatureRows, Pairs
from ...foundation import (
    DcrfError,
    Floats,
    Ints,
    data_error,
    dataclass,
    flattened,
    pack_strings,
    restored,
    unpack_strings,
)
from ...graph import CliqueWeights, Gold, Parameters
from ...model import read_model, write_model

PART_VERSION = 5  # of both kinds of files; part of the names of folders, so that another version reads none of them
COLUMNS = (InternedColumn, NumericColumn, BagColumn)  # the last field of each is a list of texts


def write_text(path: Path, corpus: Corpus) -> None:
    """Writes the columns of a part. DcrfError if the file cannot be written."""
    columns = {}
    for name, column in corpus.columns.items():
        *numbers, texts = (getattr(column, field.name) for field in fields(column))
        columns[name] = (COLUMNS.index(type(column)), *numbers, *pack_strings(texts))
    write_part(path, (corpus.file, corpus.sentence_off, columns, corpus.token_line, corpus.warnings))


def read_text(path: Path) -> Corpus:
    """The part that `write_text` wrote. DcrfError if the file is missing or damaged."""
    file, sentence_off, stored, token_line, warnings = _read(path)
    columns = {}
    for name, (number, *numbers, data, off) in stored.items():
        kind: Any = COLUMNS[number]
        columns[name] = kind(*numbers, unpack_strings(data, off))
    return Corpus(file, sentence_off, columns, token_line, tuple(warnings))


def write_part(path: Path, content: Any) -> None:
    """Writes what `_read` reads, such as a `CompiledPart`. DcrfError if the file cannot be written."""
    arrays: dict[str, NDArray[Any]] = {}
    header = {"content": flattened(content, arrays)}
    write_model(path, arrays, header)


def _read(path: Path) -> Any:
    """What `write_part` wrote, with lists in place of tuples. DcrfError if it is missing or damaged."""
    try:
        header, arrays = read_model(path)
        return restored(header["content"], arrays)
    except DcrfError as error:
        message = f"the cache cannot be read: {error.diagnostics[0].message}"
        help = f"remove the folder `{path.parent}` and run the command again: it is made anew"
        raise data_error("damaged-cache", message, file=str(path), help=help) from None


@dataclass(frozen=True, eq=False)
class CompiledPart:
    """What training reads of a part. See `criteria.TrainingProblem` for rows, relations and gold.

    parameters, counts: the weights that the part calls for, and their counts in it.   token_line: as in `Corpus`.
    numbers: its columns of one number a token.
    """

    file: str
    sentence_off: Ints
    token_line: Ints
    rows: tuple[FeatureRows, ...]
    relations: Mapping[int, Pairs]
    gold: Gold
    parameters: Parameters
    counts: Floats
    numbers: Mapping[str, Floats]


def read_compiled(path: Path) -> CompiledPart:
    """The part that `write_part` wrote. DcrfError if the file is missing or damaged."""
    stored = _read(path)
    gold, cliques = stored["gold"], stored["parameters"]["cliques"]
    sets = tuple(tuple(map(tuple, of_variable)) for of_variable in gold["sets"])
    built = {
        "rows": tuple(FeatureRows(*rows) for rows in stored["rows"]),
        "relations": {int(clique): Pairs(*pairs) for clique, pairs in stored["relations"].items()},
        "gold": Gold(gold["codes"], sets, {int(n): SoftStates(*soft) for n, soft in gold["soft"].items()}),
        "parameters": Parameters(tuple(CliqueWeights(**weights) for weights in cliques)),
    }
    return CompiledPart(**{**stored, **built})
