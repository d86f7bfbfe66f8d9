"""`dcrfdsl suggest`: which sentences of an unlabelled pool to label next, as a file to annotate.

Not here: the choice (`model.suggestions`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from ..foundation import figure, json_text
from .command_files import Output, data_files, data_statement, joined, load_model, named, read_features, refuse_clash
from .console import Talk, refuse
from .options import Argument, Features, Json, Option, OutputOrStdout, Quiet, Threads, is_stdout

if TYPE_CHECKING:
    from ..data import Chunk, Corpus
    from ..model import TrainedModel
    from ..syntax import Column


_TOKENS_AT_ONCE = 5_000  # few, as each sentence is cut out of its chunk


def suggest(
    model: Annotated[str, Argument("MODEL")],
    pool: Annotated[list[str], Argument("POOL...")],
    by: Annotated[str, Option("RULE")] = "entropy",
    count: Annotated[int, Option("N", min=1)] = 50,
    diversity: Annotated[float, Option("D")] = 1.0,
    longest: Annotated[int | None, Option("N", min=1)] = None,
    output: OutputOrStdout = None,
    studio: Annotated[bool, Option(name="--label-studio")] = False,
    threads: Threads = None,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose what to label next. These are the sentences of a pool that should teach the model most."""
    from ..data import stream_corpus
    from ..foundation import ensure_writable, write_whole
    from ..model import probability_notes
    from ..semantics import has_segments, spare_columns

    target, files, talk = None if is_stdout(output) else output, data_files(pool), Talk(quiet)
    refuse_clash([Output("-o", target)], (model, *pool, *(features or ())))
    if target is not None:
        ensure_writable(target)
    trained = load_model(model, read_features(features))
    data, labels, spare = data_statement(trained.spec), trained.labels, spare_columns(trained.spec)
    if studio and not any(has_segments(trained.states[label]) for label in labels):
        refuse("not-a-segment", "tasks of Label Studio have segments, and no label has any", "leave the option out")
    places: list[tuple[Chunk, int]] = []  # of each sentence its chunk, and its number there
    for file in files:
        for chunk in stream_corpus(
            file, data, tokens_per_chunk=_TOKENS_AT_ONCE, optional=labels, spare=spare, flush=False, gold=False
        ):
            for warning in chunk.corpus.warnings:
                talk(f"warning: {warning}")
            places += [(chunk, s) for s in range(chunk.corpus.num_sentences)]
    if not places:
        refuse("empty-file", f"there is no token in {' '.join(map(named, files))}, and nothing to choose from")
    whole = joined([chunk.corpus for chunk, s in places if not s])
    given = [label for label in labels if label in whole.columns]
    if any({*trained.states[label]} & {*whole.text_column(label).values} for label in given):
        if data.format == "fasta":
            refuse("bad-argument", "records have labels already, and one line for them", "take them out of the pool")
        talk("note: the pool has labels, which are not looked at")
    lengths = whole.lengths()
    kept = (lengths <= (longest or lengths.max())).nonzero()[0]
    if len(kept) < len(lengths):
        talk(f"note: {len(lengths) - len(kept):,} of {len(lengths):,} sentences are longer than {longest} tokens")
    found = trained.suggest(whole.take(kept), count, by=by, diversity=diversity, threads=threads)
    if not found:
        refuse("no-labelling", "there is no sentence to choose that has a labelling which the model allows")
    if len(found) < count:
        talk(f"note: `--count` is {count:,}, and there are {len(found):,} sentences to choose from: these are all")
    if not all(one.exact for one in found):
        talk("note: scores are estimates, or sums over single labels, as exact inference does not give them")
    for note in probability_notes(trained):
        talk(note)
    numbers = kept[[one.sentence for one in found]].tolist()
    for rank, (n, one) in enumerate(zip(numbers, found, strict=True) if as_json else (), 1):
        place = {"rank": rank, "file": places[n][0].corpus.file, "line": int(whole.token_line[whole.sentence_off[n]])}
        score = {"score": one.score, "exact": one.exact}
        print(json_text({**place, "sentence": n + 1, "tokens": int(lengths[n]), **score}))
    if as_json and target is None:
        return
    written = list(_annotated(trained, whole.take(numbers), [places[n] for n in numbers], studio, threads))
    if studio:
        written = [b"[\n", b",\n".join(task for part in written for task in part.split(b"\n") if task), b"\n]\n"]
    if target is None:
        sys.stdout.buffer.writelines(written)
        sys.stdout.flush()
    else:
        write_whole(target, written)
        size = f"{len(found):,} of {len(lengths):,} sentences, {int(lengths[numbers].sum()):,} tokens"
        talk(f"{target} written: {size}, {by} {figure(found[0].score)} to {figure(found[-1].score)}")


def _annotated(
    model: TrainedModel, chosen: Corpus, places: Sequence[tuple[Chunk, int]], studio: bool, threads: int | None
) -> Iterator[bytes]:
    """The file to annotate. A format with its own place for labels keeps all else that is in the file."""
    from ..data import Export, InternedColumn, TaggedOutput, as_task, data_format, repeated
    from ..semantics import has_segments
    from ..syntax import Argument as Setting, DataSpec, Text

    data, prediction = data_statement(model.spec), model.predict(chosen, threads=threads)
    form = data_format(data.format)
    if data.format == "spans" or (not studio and (form.emitter is None or form.gold_kept)):
        output = TaggedOutput(data)
        for (chunk, s), (start, end) in zip(places, pairwise(chosen.sentence_off.tolist()), strict=True):
            one = repeated(chunk, [int(n == s) for n in range(chunk.corpus.num_sentences)], alone=True)
            if studio:
                task = json_text(as_task(json.loads(one.block.text)), ensure_ascii=False)
                here = data.model_copy(update={"options": [one for one in data.options if one.name != "predictions"]})
                one = replace(one, data=here, block=one.block._replace(text=f"{task}\n".encode(), lines=None))
            yield output.write(one, {label: prediction.texts(label)[start:end] for label in model.labels})
        yield output.close()
        return
    coded = {name: InternedColumn(codes, model.states[name]) for name, codes in prediction.codes.items()}
    columns = {**chosen.columns, **coded}
    there: Sequence[Column] = [column for column in data.columns if column.name in columns]
    if studio:
        style, form = Setting(name="style", value=Text(value="label_studio")), data_format("spans")
        data = DataSpec(format="spans", columns=(), options=(style,))
        there = form.placed(there, [name for name in model.labels if has_segments(model.states[name])]).columns
    assert form.emitter is not None
    emitter = form.emitter(Export(data.model_copy(update={"columns": tuple(there)}), {c.name: c.type for c in there}))
    text = emitter.write(replace(chosen, columns=columns)) + emitter.close()
    yield text.replace(b'"annotations": [{', b'"predictions": [{"model_version": "dcrfdsl", ') if studio else text
