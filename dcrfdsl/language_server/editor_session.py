"""The texts that are open in an editor, the latest analysis of each, and what the editor should be shown.

A text is checked after a pause in typing, by a thread of its own, and again if it has changed meanwhile, so the last
state is always checked and no problem is shown for a text that is gone. Data is read by another process. What an
editor's settings say under `dcrf` is the data file of each template, and files of own feature functions:

    {"data": "train.txt"}   {"data": {"chunk*.dcrf": "conll/train.txt"}}   {"features": ["shapes.py"]}

Paths are relative to the folder of the workspace. A template may name its data itself, relative to the template, in a
comment `# data: train.txt`. Own functions are found in the text of their files, which are not run. Not here: the
protocol (`lsp_server`), the checks (`template_problems`).
"""

from __future__ import annotations

import ast as python
import asyncio
import gc
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ..foundation import dataclass
from .completion import propose
from .data_costs import NO_COSTS, CostReport, report_of
from .editor_text import UTF16, EditorText
from .hover import hover, signature
from .template_index import Template, Workspace, absolute
from .template_problems import Analysis, Problem, problems_of, readable
from .whole_text import colours, layout_edits, symbols

# settings of the workspace --------------------------------------------------------------------------------------------


DATA_COMMENT = re.compile(r"^#+[ \t]*data:[ \t]*(\S[^\r\n]*?)[ \t]*\r?$", re.MULTILINE)
DECORATOR = "feature"


@dataclass(frozen=True)
class WorkspaceSettings:
    """data: patterns of template names, and the data file of each, the first that fits.   features: Python files."""

    folder: Path = Path(".")
    data: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] = ()

    def data_of(self, path: Path, text: str) -> Path | None:
        """The data file of a template: the one that it names itself, else the one of the settings, if it exists."""
        match = DATA_COMMENT.search(text)
        named = [path.parent / match[1]] if match else []
        named += [
            self.folder / file
            for pattern, file in self.data.items()
            if fnmatch(path.name, pattern) or fnmatch(str(path), str(self.folder / pattern))
        ]
        return next((file for file in named if os.path.isfile(file)), None)

    def own_functions(self) -> tuple[str, ...]:
        """The names of the functions under `@dcrfdsl.feature` in the files of the settings."""
        return tuple(dict.fromkeys(name for file in self.features for name in _functions(self.folder / file)))


def read_settings(given: Any, folder: Path) -> WorkspaceSettings:
    """The settings of a JSON value; what is not understood counts as not given."""
    values = given.get("dcrf", given) if isinstance(given, Mapping) else {}
    values = values if isinstance(values, Mapping) else {}
    data, features = values.get("data"), values.get("features")
    if isinstance(data, str):
        data = {"*": data} if data else {}
    pairs = data.items() if isinstance(data, Mapping) else ()
    listed = features if isinstance(features, list) else [features]
    return WorkspaceSettings(
        folder,
        {pattern: file for pattern, file in pairs if isinstance(pattern, str) and isinstance(file, str)},
        tuple(file for file in listed if isinstance(file, str) and file),
    )


def _functions(path: Path) -> Iterator[str]:
    try:
        tree = python.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in python.walk(tree):
        if isinstance(node, python.FunctionDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, python.Call) else decorator
                last = called.attr if isinstance(called, python.Attribute) else getattr(called, "id", "")
                if last == DECORATOR:
                    yield node.name


# getting ready --------------------------------------------------------------------------------------------------------


SMALL = """data conll(word, y)
label y in bio(A, B)
features near: word[-1..1] & lower(word), suffix(word, 1..3)
clique y[-1], y as chain: near, wrd
train likelihood: prior = gaussian(variance = 1)
"""
COLLECTIONS = 2_000, 5, 1_000  # allocations, and collections, before a larger collection: checks leave no cycles


def warm_start() -> None:
    """Loads what the first answers need."""
    workspace = Workspace(lambda path: None)
    template = Template.of(Path("small.dcrf"), SMALL)
    problems_of(template.path, SMALL, workspace)
    propose(template, SMALL.index("wrd"), workspace, {})
    hover(template, SMALL.index("lower"), workspace, NO_COSTS)
    signature(template, SMALL.index("1..3"))
    colours(template, workspace.names(template))
    symbols(template)
    layout_edits(SMALL)
    gc.set_threshold(*COLLECTIONS)
    gc.freeze()


# the session ----------------------------------------------------------------------------------------------------------


PAUSE = 0.08  # seconds without a key pressed before a text is checked
LONGEST_WAIT = 0.5  # seconds of typing without a check
DATA_PAUSE = 1.0  # seconds without a key pressed before data is read
DATA_LIMIT = 600.0  # seconds that reading data may take
MOST_KEPT = 256  # files on the disk whose text is kept
MOST_FOLDERS = 200  # in which templates are looked for that use a file


@dataclass
class OpenFile:
    """A text in the editor. path: of its file, without links.   revision: counts changes of it and of files it uses."""

    uri: str
    path: Path
    version: int | None
    text: EditorText
    revision: int = 1
    checked: int = 0
    analysis: Analysis | None = None
    costs: CostReport = NO_COSTS
    costs_of: object = None  # what the costs were computed for
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def fresh(self) -> Analysis | None:
        """The analysis of the text as it is."""
        return self.analysis if self.analysis is not None and self.analysis.text == self.text.code else None


class EditorSession:
    """publish: shows problems of a file, by path.   refresh: tells the editor that hints have changed."""

    def __init__(self, publish: Callable[[Path, Sequence[Problem]], None], refresh: Callable[[], None]):
        self.publish, self.refresh = publish, refresh
        self.files: dict[str, OpenFile] = {}
        self.encoding = UTF16
        self.settings = WorkspaceSettings()
        self.checker = ThreadPoolExecutor(1, thread_name_prefix="checker")
        self._disk: dict[Path, tuple[int, int, str | None]] = {}
        self._shown: dict[Path, tuple[int | None, list[Problem]]] = {}  # what the editor has been shown
        self._reading = asyncio.Lock()
        self.workspace = Workspace(self.read)

    def start(self) -> None:
        """Gets ready for the first text, beside the talk with the editor."""
        self.checker.submit(warm_start)

    # texts --------------------------------------------------------------------------------------------------------

    def open(self, uri: str, path: Path, version: int | None, text: str) -> None:
        self.files[uri] = OpenFile(uri, absolute(path), version, EditorText(text, self.encoding))
        self.touch(absolute(path))

    def close(self, uri: str) -> None:
        closed = self.files.pop(uri, None)
        if closed is not None:
            for task in closed.tasks.values():
                task.cancel()
            self.touch(closed.path)
            self.show()

    def change(self, uri: str, version: int | None, text: EditorText) -> None:
        changed = self.files[uri]
        changed.text, changed.version = text, version
        self.touch(changed.path)

    def configure(self, settings: WorkspaceSettings) -> None:
        self.settings = settings
        self.workspace.registered = settings.own_functions()
        for one in self.files.values():
            self._schedule(one)

    def touch(self, path: Path) -> None:
        """A file has another text: whatever has it or uses it is checked again."""
        self._disk.pop(path, None)
        for one in self.files.values():
            if one.path == path or path in self._used_by(one):
                self._schedule(one)

    def _used_by(self, one: OpenFile) -> Iterator[Path]:
        if one.analysis is not None:
            yield from one.analysis.texts
        for template in self.workspace.names(self.template(one)).templates:
            for _, used in template.used_paths:
                yield absolute(used)

    def read(self, path: Path) -> str | None:
        """The text of a file: of the editor, else of the disk as it is now."""
        one = self.opened(path)
        return one.text.code if one is not None else self._from_disk(path)

    def _from_disk(self, path: Path) -> str | None:
        try:
            state = path.stat()
        except (OSError, ValueError):
            return None
        kept = self._disk.get(path)
        if kept is None or kept[:2] != (state.st_mtime_ns, state.st_size):
            if len(self._disk) >= MOST_KEPT:
                self._disk.clear()
            kept = self._disk[path] = (state.st_mtime_ns, state.st_size, readable(path))
        return kept[2]

    def template(self, one: OpenFile) -> Template:
        """The statements of an open text."""
        template = self.workspace.template(one.path)
        if template is None or template.text != one.text.code:
            template = Template.of(one.path, one.text.code)
        return template

    def related(self, template: Template) -> Sequence[Template]:
        """The template with the files that it uses, and whatever uses it or these: open, or in the folder."""
        found = {one.path: one for one in self.workspace.names(template).templates}
        reached = set(found)
        for path in dict.fromkeys([*(one.path for one in self.files.values()), *self._beside(template.path)]):
            other = self.workspace.template(path)
            used = self.workspace.names(other).templates if other is not None else ()
            if any(one.path in reached for one in used):
                found.update((one.path, one) for one in used)
        return tuple(found.values())

    def _beside(self, path: Path) -> Iterator[Path]:
        """Templates in the folder of the workspace, or in that of a file outside it; hidden folders are left out."""
        inside = self.settings.folder in path.parents
        left = MOST_FOLDERS
        for folder, folders, names in os.walk(self.settings.folder if inside else path.parent):
            folders[:] = sorted(name for name in folders if not name.startswith(".")) if inside else []
            yield from (absolute(Path(folder, name)) for name in names if name.endswith(".dcrf"))
            left -= 1
            if not left:
                return

    def opened(self, path: Path) -> OpenFile | None:
        """The open text of a file, by its path without links."""
        return next((one for one in self.files.values() if one.path == path), None)

    def text_of(self, path: Path) -> EditorText:
        """A text with its lines, open or not."""
        one = self.opened(path)
        return one.text if one is not None else EditorText(self._from_disk(absolute(path)) or "", self.encoding)

    # problems -----------------------------------------------------------------------------------------------------

    def _schedule(self, one: OpenFile) -> None:
        one.revision += 1
        task = one.tasks.get("check")
        if task is None or task.done():
            one.tasks["check"] = asyncio.ensure_future(self._check(one))

    async def _check(self, one: OpenFile) -> None:
        """Checks until the text that was checked is the one in the editor."""
        loop = asyncio.get_running_loop()
        while one.checked != one.revision and self.files.get(one.uri) is one:
            waited = 0.0
            revision = -1
            while revision != one.revision and waited < LONGEST_WAIT:
                revision = one.revision
                await asyncio.sleep(PAUSE)
                waited += PAUSE
            revision, workspace = one.revision, self._frozen()
            try:
                found = await loop.run_in_executor(self.checker, problems_of, one.path, one.text.code, workspace)
            except Exception:  # a mistake of the checker must not end the checks of this text
                logging.getLogger(__name__).exception("the check of %s has failed", one.path)
                one.checked = revision
                continue
            if revision == one.revision:
                one.checked, one.analysis = revision, found
                self.show()
        self._schedule_costs(one)

    def _frozen(self) -> Workspace:
        """The workspace as it is now, for another thread."""
        texts = {one.path: one.text.code for one in self.files.values()}
        registered = self.workspace.registered
        return Workspace(lambda path: texts[path] if path in texts else readable(path), registered=registered)

    def show(self) -> None:
        """Shows what is known of the texts as they are; problems of texts that are gone are taken back."""
        found: dict[Path, dict[object, Problem]] = {one.path: {} for one in self.files.values()}
        pending = {one.path for one in self.files.values() if one.fresh is None}
        for one in self.files.values():
            for path, problems in (one.analysis.problems if one.fresh and one.analysis else {}).items():
                if one.analysis is not None and self.read(path) == one.analysis.texts.get(path):
                    kept = found.setdefault(path, {})
                    for problem in problems:
                        kept.setdefault((problem.start, problem.end, problem.diagnostic.slug, problem.message), problem)
        for path in {*found, *self._shown} - pending:
            problems = sorted(found.get(path, {}).values(), key=lambda one: one.start)
            opened = self.opened(path)
            state = None if opened is None else opened.version, problems
            if self._shown.get(path) != state:
                self.publish(path, problems)
            self._shown[path] = state
        for path in [path for path, (version, problems) in self._shown.items() if version is None and not problems]:
            del self._shown[path]

    # data ---------------------------------------------------------------------------------------------------------

    def costs(self, one: OpenFile) -> CostReport:
        """What data says of the text as it is; of an earlier text only the states. Data that has changed is read."""
        key = self._costs_key(one)
        if one.costs_of == key:
            return one.costs
        if key is not None and one.costs_of is not None:
            self._schedule_costs(one)
        return CostReport(one.costs.data_name, one.costs.states)

    def _costs_key(self, one: OpenFile) -> object:
        data = self.settings.data_of(one.path, one.text.code)
        if data is None or one.fresh is None:
            return None
        try:
            state = data.stat()
        except OSError:
            return None
        return data, state.st_mtime_ns, state.st_size, tuple(sorted((str(k), v) for k, v in one.fresh.texts.items()))

    def _schedule_costs(self, one: OpenFile) -> None:
        task = one.tasks.get("data")
        if (task is None or task.done()) and self.settings.data_of(one.path, one.text.code) is not None:
            one.tasks["data"] = asyncio.ensure_future(self._measure(one))

    async def _measure(self, one: OpenFile) -> None:
        """Reads the data until the costs are those of the text; one process at a time."""
        while self.files.get(one.uri) is one:
            revision = one.revision
            await asyncio.sleep(DATA_PAUSE)
            if revision != one.revision:
                continue
            key, data = self._costs_key(one), self.settings.data_of(one.path, one.text.code)
            if key is None or data is None or key == one.costs_of:
                return
            async with self._reading:
                answer = await self._ask(one, data)
            if self.files.get(one.uri) is one and answer is not None:
                one.costs_of, one.costs = key, report_of(answer, data.name)
                self.refresh()

    async def _ask(self, one: OpenFile, data: Path) -> Mapping[str, object] | None:
        """The answer of the process that reads data, or None if it failed."""
        opened = {str(other.path): other.text.code for other in self.files.values()}
        request = {"text": one.text.code, "path": str(one.path), "data": str(data), "opened": opened}
        call = "from dcrfdsl.language_server import print_costs; print_costs()"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", call, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            out, _ = await asyncio.wait_for(process.communicate(json.dumps(request).encode()), DATA_LIMIT)
            answer: Mapping[str, object] = json.loads(out)
            return answer
        except (TimeoutError, ValueError):
            return {"problem": "the data could not be read"}
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def end(self) -> None:
        """Stops what still runs."""
        for one in self.files.values():
            for task in one.tasks.values():
                task.cancel()
        self.files.clear()
        self.checker.shutdown(wait=False, cancel_futures=True)
