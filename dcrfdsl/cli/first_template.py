"""`dcrfdsl new --for DATA`: writes a first template, with what it costs. Not here: what it says (`convert`)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ..convert import Portrait, first_template, portrait_of, variants
from ..foundation import shell_word, write_whole
from ..semantics import check_or_raise, load_text
from ..training import cross_validate
from .command_files import STDIN, data_files
from .console import Talk, print_diagnostics, refuse
from .convert_command import refuse_existing, said_format
from .cost_table import trained_costs
from .cv_command import of_stages
from .inference_notes import announce_compiling
from .options import is_stdout
from .report import print_table

TRIED = 10_000  # tokens that variants are compared on
SHOWN = ("weights", "method", "memory", "time")  # rows of the table of costs that stand in the template


def make_first_template(
    data: str, source: str | None, labels: str | None, output: Path | None, *, compares: bool, talk: Talk
) -> None:
    """Writes the template to `output`, and prints its costs; or to stdout.   compares: takes the best of three."""
    written = None if output is None or is_stdout(output) else str(output)
    if written:
        refuse_existing(written)
    if data == STDIN:
        refuse("bad-argument", "`--for` looks at data twice, which a pipe gives once", "write them into a file")
    asked = [one.strip() for one in labels.split(",")] if labels else []
    portrait = portrait_of(data_files([data]), said_format(source, "--from") if source else None, asked)
    announce_compiling(talk)
    text = _best(portrait, talk) if compares else first_template(portrait)
    resolved = load_text(text)
    remarks = check_or_raise(resolved, corpus=portrait.corpus)
    costs, warnings, _ = trained_costs(resolved, portrait.corpus, {}, None)
    text += "\n# What it costs with the data that were looked at:\n"
    text += "".join(f"#   {row:<8} {words}\n" for row, words in costs.totals if row in SHOWN)
    if written:
        write_whole(written, (text.encode(),))
        if not talk.quiet:
            print_diagnostics([*remarks, *warnings])
            costs.print()
    else:
        print(text, end="")
    talk(f"{written} written; next:" if written else "`-o FILE` writes it into a file; then:")
    model = shell_word(str(Path(written).with_suffix(".model"))) if written else "MODEL"
    talk(f"  dcrfdsl train {shell_word(written or 'FILE')} {shell_word(data)} -o {model}")


def _best(portrait: Portrait, talk: Talk) -> str:
    """The best of the variants by three folds of the first sentences; says how each has done."""
    corpus, texts = portrait.corpus, variants(portrait)
    sample = corpus.slice(0, max(3, int((corpus.sentence_off[1:] <= TRIED).sum())))
    scores = [f"segments({y}).f1" if portrait.looks[y].scheme else f"accuracy({y})" for y in portrait.labels]
    tried = [replace(cross_validate(load_text(text), sample, folds=3), stage=name) for name, text in texts.items()]
    best = max(tried, key=lambda one: sum(one.mean[score] for score in scores)).stage
    if not talk.quiet:
        print_table(of_stages(tried, "variant"), stream=sys.stderr)
    talk(f"by 3 folds of {sample.num_sentences:,} sentences, {sample.num_tokens:,} tokens: `{best}` is taken")
    return texts[best]
