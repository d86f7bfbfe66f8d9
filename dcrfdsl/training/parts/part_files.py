"""Parts of a corpus as files: their text as columns, and what training reads of them.

Each file is a file of named arrays as models are: checked by a sum, written whole or not at all, without pickle. Not
here: when they are written (`corpus_parts`, `part_learning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import BagColumn, Corpus, InternedColumn, NumericColumn, SoftStates
from ...features import FeatureRows, Pairs
from ...foundation import DcrfError, Floats, Ints, data_error, dataclass, pack_strings, unpack_strings
from ...graph import CliqueWeights, Gold, Parameters
from ...model import read_model, write_model

PART_VERSION = 4  # of both kinds of files; part of the names of folders, so that another version reads none of them

Arrays = dict[str, NDArray[Any]]


def write_text(path: Path, corpus: Corpus) -> None:
    """Writes the columns of a part. DcrfError if the file cannot be written."""
    arrays: Arrays = {"sentence_off": corpus.sentence_off, "token_line": corpus.token_line}
    kinds = {}
    for name, column in corpus.columns.items():
        match column:
            case InternedColumn(codes=codes, values=values):
                kinds[name] = "texts"
                arrays |= {f"{name}.codes": codes, **_strings(name, values)}
            case BagColumn(off=off, codes=codes, weights=weights, names=names):
                kinds[name] = "bags"
                arrays |= {f"{name}.item_off": off, f"{name}.codes": codes, f"{name}.weights": weights}
                arrays |= _strings(name, names)
            case NumericColumn(values=numbers, names=states):
                kinds[name] = "numbers"
                arrays |= {f"{name}.numbers": np.asarray(numbers, np.float64), **_strings(name, states)}
    write_model(path, arrays, {"file": corpus.file, "columns": kinds, "warnings": list(corpus.warnings)})


def read_text(path: Path) -> Corpus:
    """The part that `write_text` wrote. DcrfError if the file is missing or damaged."""
    header, arrays = _read(path)
    columns: dict[str, InternedColumn | NumericColumn | BagColumn] = {}
    for name, kind in header["columns"].items():
        texts = unpack_strings(arrays[f"{name}.bytes"], arrays[f"{name}.off"])
        if kind == "numbers":
            columns[name] = NumericColumn(arrays[f"{name}.numbers"], texts)
            continue
        codes = arrays[f"{name}.codes"]
        if kind == "bags":
            columns[name] = BagColumn(arrays[f"{name}.item_off"], codes, arrays[f"{name}.weights"], texts)
        else:
            columns[name] = InternedColumn(codes, texts)
    return Corpus(header["file"], arrays["sentence_off"], columns, arrays["token_line"], tuple(header["warnings"]))


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file of the cache. DcrfError if it is missing or damaged."""
    try:
        return read_model(path)
    except DcrfError as error:
        message = f"the cache cannot be read: {error.diagnostics[0].message}"
        help = f"remove the folder `{path.parent}` and run the command again: it is made anew"
        raise data_error("damaged-cache", message, file=str(path), help=help) from None


def _strings(name: str, texts: Sequence[str]) -> Arrays:
    data, off = pack_strings(texts)
    return {f"{name}.bytes": data, f"{name}.off": off}


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
    relations: dict[int, Pairs]
    gold: Gold
    parameters: Parameters
    counts: Floats
    numbers: dict[str, Floats]


def write_compiled(path: Path, part: CompiledPart) -> None:
    """Writes what training reads of a part. DcrfError if the file cannot be written."""
    arrays: Arrays = {
        "sentence_off": part.sentence_off, "token_line": part.token_line, "gold": part.gold.codes,
        "counts": part.counts, **part.parameters.arrays(),
    }  # fmt: skip
    pads, pair_offs = [], []
    for number, rows in enumerate(part.rows):
        arrays |= {f"rows.{number}.off": rows.row_off, f"rows.{number}.feature": rows.feature}
        arrays[f"rows.{number}.value"] = rows.value
        pads.append([rows.pad_left, rows.pad_right])
        if rows.pair_off is not None:
            pair_offs.append(number)
            arrays[f"rows.{number}.pair_off"] = rows.pair_off
    for clique, pairs in part.relations.items():
        arrays |= {f"pairs.{clique}.{name}": getattr(pairs, name) for name in Pairs._fields}
    arrays |= {f"numbers.{name}": column for name, column in part.numbers.items()}
    for variable, soft in part.gold.soft.items():
        arrays |= {f"soft.{variable}.tokens": soft.tokens, f"soft.{variable}.share": soft.share}
    header = {
        "numbers": list(part.numbers), "file": part.file, "pads": pads, "pair_offs": pair_offs,
        "relations": list(part.relations), "sets": part.gold.sets, "soft": list(part.gold.soft),
        "cliques": len(part.parameters.cliques),
    }  # fmt: skip
    write_model(path, arrays, header)


def read_compiled(path: Path) -> CompiledPart:
    """The part that `write_compiled` wrote. DcrfError if the file is missing or damaged."""
    header, arrays = _read(path)
    rows = tuple(
        FeatureRows(
            arrays[f"rows.{n}.off"],
            arrays[f"rows.{n}.feature"],
            arrays[f"rows.{n}.value"],
            pads[0],
            pads[1],
            arrays[f"rows.{n}.pair_off"] if n in header["pair_offs"] else None,
        )
        for n, pads in enumerate(header["pads"])
    )
    cliques = tuple(
        CliqueWeights(*(arrays[f"parameters.{n}.{name}"] for name in ("bias", "run_off", "entry")))
        for n in range(header["cliques"])
    )
    relations = {
        clique: Pairs(*(arrays[f"pairs.{clique}.{name}"] for name in Pairs._fields)) for clique in header["relations"]
    }
    sets = tuple(tuple(map(tuple, of_variable)) for of_variable in header["sets"])
    soft = {n: SoftStates(arrays[f"soft.{n}.tokens"], arrays[f"soft.{n}.share"]) for n in header["soft"]}
    return CompiledPart(
        header["file"], arrays["sentence_off"], arrays["token_line"], rows, relations, Gold(arrays["gold"], sets, soft),
        Parameters(cliques), arrays["counts"], {name: arrays[f"numbers.{name}"] for name in header["numbers"]},
    )  # fmt: skip
