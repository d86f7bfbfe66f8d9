"""`dcrfdsl tag`: predictions beside the lines of the input in its own format, or as JSON.

Not here: what is predicted (`tagging`).
"""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from click import BadParameter

from .. import data as data_room, inference, model as models, semantics, syntax
from ..foundation import ensure_writable, processes, write_whole
from .command_files import STDIN, Output, data_statement, load_model, named, prefetched, read_features, refuse_clash
from .console import Talk, check_decode, refuse
from .options import is_stdout, with_options
from .tagging import Answer, Notes, Tagger, TagOptions

if TYPE_CHECKING:
    from concurrent.futures import Future


_TOKENS_AT_ONCE = 50_000


@with_options(TagOptions)
def tag(options: TagOptions) -> None:
    """Tag text with a model. The input comes out again with the predicted labels appended, in the order of the
    template. In crfsuite and grmm they take the places of the labels."""
    if options.cliques and not options.as_json:
        refuse("needs-json", "`--clique-marginals` has no place in the columns of the input", "add `--json`")
    if options.confidence and options.nbest is not None:
        refuse("idle-option", "`--nbest` has probabilities, and `--confidence` is of one labelling", "leave out one")
    if options.decode is not None and options.nbest is not None:
        refuse("idle-decode", "`--nbest` lists labellings in their order, which no `--decode` changes", "leave out one")
    if (options.files or []).count(STDIN) > 1:
        raise BadParameter("`-` (stdin) can be given once only")
    _refuse_idle_beside_pretty(options)
    output = None if is_stdout(options.output) else options.output
    refuse_clash([Output("-o", output)], (options.model, *(options.files or ()), *(options.features or ())))
    if output is not None and options.flush:
        refuse("idle-option", "the file of `-o` is there when all is tagged, so `--flush` does nothing", "leave it out")
    check_decode(options.decode)
    if options.jobs is not None and options.jobs > 1 and options.flush:
        refuse("idle-option", "several jobs gather text, and `--flush` answers each sentence", "leave out one of them")
    from .inference_notes import announce_compiling, unsettled_note

    if output is not None:
        ensure_writable(output)
    model = load_model(options.model, read_features(options.features), options.rounds)
    if options.sets:  # an error if there are none
        held = f"note: the sets hold all truths of a sentence with probability {model.decisions.promised[0].target:g}"
        Talk(options.quiet)(f"{held}, if it is like those held out")
    elif options.accept:
        _ = model.decisions.points
    num_tokens = 0
    talk, status, notes = Talk(options.quiet), inference.RunStatus(), Notes()
    tagged = data_room.TaggedOutput(_data(model, options))
    written = _pretty(model, output) if options.pretty else _written(tagged, as_json=options.as_json)
    announce_compiling(talk)
    answered = answered_by_threads if options.jobs is None or options.jobs == 1 else _answered_by_processes

    def parts() -> Iterator[bytes]:
        nonlocal status, num_tokens
        for chunk, answer in answered(model, options):
            num_tokens += chunk.corpus.num_tokens
            for warning in chunk.corpus.warnings:
                talk(f"warning: {warning}")
            yield written(chunk, answer)
            notes.add(answer.notes)
            status += replace(answer.status, impossible=())  # the notes have the place of the first, and how many
        if not options.as_json and not options.pretty:
            yield tagged.close()

    if output is None:
        for part in parts():
            sys.stdout.buffer.write(part)
            sys.stdout.flush()
    else:
        write_whole(output, parts())
        talk(f"{output} written")
    if not status.converged:
        talk(unsettled_note(status))
    if not num_tokens:
        talk(f"note: there is no token in {' '.join(map(named, options.files or [STDIN]))}, so nothing is tagged")
    for note in (*notes.lines(model, options), *(f"note: {note}" for note in tagged.notes())):
        talk(note)


def _chunks(
    model: models.TrainedModel, options: TagOptions, flush: bool | None
) -> Iterator[tuple[data_room.Chunk, int]]:
    """Whole sentences of the input, file after file, and how many sentences came before. Columns of labels may be
    absent, but not with `--given`.
    """
    data, labels, before, spare = _data(model, options), model.labels, 0, semantics.spare_columns(model.spec)
    required, optional = (labels, ()) if options.given else ((), labels)
    for file in options.files or [STDIN]:
        for chunk in data_room.stream_corpus(
            file, data, tokens_per_chunk=_TOKENS_AT_ONCE, required=required, optional=optional, spare=spare,
            flush=flush, gold=options.given,
        ):  # fmt: skip
            yield chunk, before
            before += chunk.corpus.num_sentences


def answered_by_threads(model: models.TrainedModel, options: TagOptions) -> Iterator[tuple[data_room.Chunk, Answer]]:
    """Each chunk with its answer; the next one is read, and its features extracted, while one is answered."""
    tagger = Tagger(model, options, options.threads)
    prepared = (
        (chunk, tagger.question(chunk.corpus, before)) for chunk, before in _chunks(model, options, options.flush)
    )
    for chunk, question in prepared if options.threads == 1 else prefetched(prepared):
        yield chunk, tagger.answer(question)


def _answered_by_processes(model: models.TrainedModel, options: TagOptions) -> Iterator[tuple[data_room.Chunk, Answer]]:
    """The same by processes, which answer, while this one reads and writes. It answers the first chunk itself: then the
    processes share all that was loaded for it, and little text needs none.
    """
    from concurrent.futures.process import BrokenProcessPool

    assert options.jobs is not None
    tagger = Tagger(model, options, max(1, inference.Workers(options.threads).threads // options.jobs))
    chunks = _chunks(model, options, False)
    for chunk, before in chunks:
        yield chunk, tagger.answer(tagger.question(chunk.corpus, before))
        break
    ahead = deque(itertools.islice(chunks, options.jobs))
    if not ahead:
        return
    jobs = len(ahead)  # no more processes than there are parts
    waiting: deque[tuple[data_room.Chunk, Future[Answer]]] = deque()
    try:
        with processes(jobs, _begin, tagger, ends_at_once=False) as pool:  # a part takes a moment
            taken = (ahead.popleft() for _ in range(jobs))  # none of which stays in memory for longer
            for chunk, before in itertools.chain(taken, chunks):
                waiting.append((chunk, pool.submit(_answer_here, chunk.corpus, before)))
                if len(waiting) > jobs + 1:  # one in each process and one that waits: memory is bounded
                    chunk, answer = waiting.popleft()
                    yield chunk, answer.result()
            while waiting:
                chunk, answer = waiting.popleft()
                yield chunk, answer.result()
    except BrokenProcessPool:
        refuse("lost-process", "a process that tagged has died; most often memory ran out", "use fewer `--jobs`")


_here: Tagger | None = None  # in a process of ours


def _begin(tagger: Tagger) -> None:
    global _here
    _here = tagger


def _answer_here(corpus: data_room.Corpus, before: int) -> Answer:
    assert _here is not None
    return _here.answer(_here.question(corpus, before))


def _refuse_idle_beside_pretty(options: TagOptions) -> None:
    """Raises `DcrfError` for what `--pretty`, which shows the best labelling alone, leaves no place for, and for what
    was not in use when sets and operating points were found.
    """
    decided = "--sets" if options.sets else "--accept" if options.accept else ""
    others = {
        "--nbest": options.nbest is not None, "--given": options.given, "--decode": options.decode is not None,
        "--pretty": options.pretty, "--accept": options.sets and options.accept,
    }  # fmt: skip
    for name in (name for name, is_given in others.items() if decided and is_given):
        message = f"`{decided}` keeps to what was found on held-out data, where `{name}` was not in use"
        refuse("idle-option", message, "leave out one of them")
    beside = {
        "--json": options.as_json, "--nbest": options.nbest is not None, "--marginals": options.marginals,
        "--apart": options.apart, "--confidence": bool(options.confidence),
    }  # fmt: skip
    idle = [name for name, is_given in beside.items() if is_given]
    if options.pretty and idle:
        message = f"`--pretty` shows the best labelling of each sentence, and has no place for `{idle[0]}`"
        refuse("idle-option", message, "leave out one of them")


def _written(output: data_room.TaggedOutput, *, as_json: bool) -> Callable[[data_room.Chunk, Answer], bytes]:
    """The bytes of answers for programs."""

    def written(chunk: data_room.Chunk, answer: Answer) -> bytes:
        if as_json:
            return _lines(answer.lines)
        shown = chunk if answer.copies is None else data_room.repeated(chunk, answer.copies)
        return output.write(shown, {**answer.columns, **answer.numbers}, answer.remarks)

    return written


def _lines(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8", "backslashreplace")


def _pretty(model: models.TrainedModel, output: Path | None) -> Callable[[data_room.Chunk, Answer], bytes]:
    """The bytes of answers for people. A terminal gets its colours at once, and no bytes are left."""
    from .pretty_tags import WIDTH, PrettySentences
    from .report import print_lines, terminal

    pretty = PrettySentences({label: model.states[label] for label in model.labels})
    is_shown = output is None and sys.stdout.isatty()
    width = terminal(sys.stdout).width if is_shown else WIDTH

    def written(chunk: data_room.Chunk, answer: Answer) -> bytes:
        lines = pretty.lines(chunk.corpus, answer.columns, width)
        if not is_shown:
            return _lines(line.plain for line in lines)
        print_lines(*lines)
        return b""

    return written


def _data(model: models.TrainedModel, options: TagOptions) -> syntax.DataSpec:
    """The `data` statement of the model, with the place of predictions that the command line asks for."""
    data = data_statement(model.spec)
    return data_room.with_predictions_apart(data) if options.apart else data
