"""Hostile input by the thousand: templates, data files, model files and settings that nobody would write.

    python tests/fuzz --seconds 60                       every kind in turn, as the checks of the project do
    python tests/fuzz --only templates --cases 200000 --workers 2 --seed 7
    python tests/fuzz --case templates-7-1234            one case again: what it is and what came of it

A seeded generator makes each case from its name alone (kind, seed of the run, number), so that any case can be repeated
by itself. Worker processes try the cases: they stay alive from case to case, and one that dies is replaced and its case
recorded. For every kind these are findings: an exception that is no `DcrfError`, a signal, more than 5 s of processor
time (or 30 s by the clock), more than 1 GB of memory beyond what the worker had at the start, and whatever a kind
itself reports (`Wrong`). Findings with the same cause (kind of finding, exception, the project's innermost function)
are counted, and the first of them is minimised before it is printed.

**To add a kind**: a module here with one class that derives from `cases.Fuzzer`, and a line in `KINDS` of `kinds.py`.

    class ModelFiles(Fuzzer[bytes]):                # what a case is: anything that can be pickled
        def __init__(self, room: Path) -> None:     # once a worker: train the models to mutate, read the templates …
            self.room = room                        # an empty folder of this worker, for files; removed at the end

        def make(self, rng: np.random.Generator) -> bytes: ...        # a case; of nothing but `rng` and `__init__`
        def attempt(self, case: bytes, rng: np.random.Generator) -> str: ...
        def smaller(self, case: bytes) -> Iterator[bytes]: ...        # candidates, the boldest first
        def show(self, case: bytes) -> str: ...                       # text for a person; what is printed

`attempt` returns a word for the outcome (`clean`, `refused`, `trained`; a run prints how often each occurred). It lets
a `DcrfError` pass or returns `refused`; it raises `Wrong(kind, words)` for a fault that it detects itself, and lets
every other exception pass to the worker. Its `rng` is a second generator of the same case, for choices of what to try.
Nothing may depend on the clock, on the order of cases, or on files outside the repository, `__init__` draws only from a
generator with a fixed seed, and nothing prints. The time and memory of `__init__` do not count against a case; compile
there (by one run of a sound case) every kernel that a case may need.
"""
