"""The command line: text in, the same text with labels out.

python tagger.py < data.txt
python tagger.py --marginals data.txt more.txt
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from .tagger_lines import FORMATS, PAUSE, Block, blocks_of
from .tagger_model import NO_LABEL, Tagger
from .tagger_tokens import TaggerError

SMALLEST = 5e-5  # a probability below this would read 0.0000
INPUT_ERROR = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 unusable input, 2 wrong usage, 130 ended by Ctrl-C."""
    options = _parsed(sys.argv[1:] if arguments is None else arguments)
    try:
        if sys.stdout is None:
            raise TaggerError("stdout is closed")
        tagger = Tagger(options.model)
        sentences = 0
        for file in options.files or ["-"]:
            if file == "-" and sys.stdin is None:
                raise TaggerError("stdin is closed")
            if file == "-":
                sentences = _tag(tagger, sys.stdin.buffer, "<stdin>", options, sentences)
            else:
                with open(file, "rb") as stream:
                    sentences = _tag(tagger, stream, file, options, sentences)
    except TaggerError as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return 130  # as shells have it: 128 + SIGINT
    except BrokenPipeError:
        pass  # the reader, such as `head`, has enough
    except OSError as error:
        what = f"`{error.filename}`" if error.filename else "the output cannot be written"
        return _failed(f"{what}: {(error.strerror or str(error)).lower()}")
    return 0


def _failed(message: str) -> int:
    if sys.stderr is not None:  # it is closed
        with suppress(OSError):
            sys.stderr.write(f"error: {message}\n")
    return INPUT_ERROR


def _write(text: str) -> None:
    """Writes a text to stdout, or raises OSError. A raw stream takes what there is room for, and says how much."""
    buffer: Any = sys.stdout.buffer
    # Half a surrogate pair, of the name of a file or of JSON that no column reads, is written as JSON has it.
    stream, rest = getattr(buffer, "raw", buffer), memoryview(text.encode("utf-8", "backslashreplace"))
    while rest:
        taken = stream.write(rest)
        if taken is None:  # a pipe that does not block, and is full
            time.sleep(PAUSE)
        else:
            rest = rest[taken:]


class Options:
    """The command line, as it is without any argument."""

    files: Sequence[str] = ()
    model: str | None = None
    marginals = given = json = jsonl = False


def _parsed(arguments: Sequence[str]) -> Options:
    options = Options()
    if arguments:
        import argparse  # here only: the usual call, without arguments, need not wait for it

        parser = argparse.ArgumentParser(description="Tag text: the input comes out again with the predicted labels.")
        parser.add_argument("files", nargs="*", metavar="FILE", help="text to tag; - or nothing is stdin")
        parser.add_argument("--model", metavar="FILE.npz", help="model file (default: the one beside this program)")
        parser.add_argument("--marginals", action="store_true", help="one more column a label: STATE:PROBABILITY;…")
        parser.add_argument("--given", action="store_true", help="keep to the labels of the input; _ is free")
        parser.add_argument("--json", action="store_true", help="print a line of JSON for each sentence")
        parser.add_argument("--jsonl", action="store_true", help="read JSON lines, whatever the model was trained on")
        parser.parse_args(arguments, options)
    return options


def _tag(tagger: Tagger, stream: BinaryIO, file: str, options: Options, done: int) -> int:
    """Tags a file; returns the number of sentences so far."""
    kind = "jsonl" if options.jsonl else tagger.data["format"]
    if kind not in FORMATS:
        raise TaggerError(f"this program reads {', '.join(FORMATS)}, and the model was made for `{kind}`: use --jsonl")
    form = FORMATS[kind](tagger.data, tagger._columns, tagger.labels, options.given)
    for block in blocks_of(stream, form, file):
        given = block.sentences if options.given else None
        if given and any(label not in columns for columns in given for label in tagger.labels):
            raise TaggerError(f"{file}: `--given` needs the labels {', '.join(f'`{one}`' for one in tagger.labels)}")
        tagged, _ = tagger._labelled(block.sentences, given)
        tables = tagger.marginals_all(block.sentences, given) if options.marginals else None
        if options.json:
            _write(_records(tagger, block, tagged, tables, file, done))
        else:
            if tables is not None:
                for labels, table in zip(tagged, tables, strict=True):
                    for label in tagger.labels:
                        labels[f"{label}_marginals"] = _distributions(tagger.states[label], table[label])
            _write(block.mark + form.written(block, tagged))
        done += len(block.sentences)
    return done


def _distributions(states: Sequence[str], table: Any) -> list[str]:
    """`STATE:PROBABILITY;…` at each token, likeliest first."""
    order = np.argsort(-table, axis=1, kind="stable")
    return [
        ";".join(f"{states[state]}:{row[state]:.4f}" for state in ranks if row[state] >= SMALLEST) or NO_LABEL
        for row, ranks in zip(table.tolist(), order.tolist(), strict=True)
    ]


def _records(
    tagger: Tagger, block: Block, tagged: Sequence[Mapping[str, list[str]]], tables: Any, file: str, done: int
) -> str:
    """A line of JSON for each sentence."""
    lines = []
    for n, labels in enumerate(tagged):
        line = block.first + block.places[n][0]
        record: dict[str, Any] = {"file": file, "line": line, "sentence": done + n + 1, "labels": labels}
        if tables is not None:
            record["marginals"] = {
                label: [
                    None if math.isnan(row[0]) else dict(zip(tagger.states[label], row, strict=True))
                    for row in table.tolist()
                ]
                for label, table in tables[n].items()
            }
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)
