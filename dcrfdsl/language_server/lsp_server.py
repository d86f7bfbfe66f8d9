"""The language server over stdio, and answers in the forms of the protocol: the one module that knows pygls.

It asks the others, and says nothing of its own. pygls keeps no texts here: it splits lines as Python does, which is not
as editors do. Source: Language Server Protocol 3.17. Not here: answers (the modules by their questions).
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification
from pygls.uris import from_fs_path, to_fs_path

from .. import __version__
from ..foundation import WholeWriter
from . import answers
from .code_actions import quick_fixes, refactorings
from .completion import propose
from .editor_session import EditorSession, OpenFile, read_settings
from .editor_text import UTF16, EditorText
from .hover import hover, inlay_hints, signature
from .name_navigation import definitions, name_at, references, rename, renameable
from .template_index import Template, absolute
from .template_problems import Problem, explained
from .whole_text import COLOURS, MODIFIERS, colours, folds, layout_edits, symbols

# forms of the protocol ------------------------------------------------------------------------------------------------


SEVERITY = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
KIND = lsp.CompletionItemKind
COMPLETION_KINDS: Mapping[str, lsp.CompletionItemKind] = {
    "statement": KIND.Keyword, "word": KIND.Keyword, "feature function": KIND.Function, "column": KIND.Field,
    "label": KIND.Variable, "latent variable": KIND.Variable, "memory": KIND.Variable, "view": KIND.Variable,
    "lexicon": KIND.Reference, "constant": KIND.Constant, "feature group": KIND.Module, "clique": KIND.Class,
    "piece": KIND.Class, "stage": KIND.Event, "setting": KIND.Property, "value": KIND.EnumMember,
    "state": KIND.EnumMember, "file": KIND.File, "position": KIND.Variable, "data format": KIND.Interface,
    "column type": KIND.TypeParameter, "domain": KIND.Struct,
}  # fmt: skip
SYMBOL_KINDS: Mapping[str, lsp.SymbolKind] = {
    "column": lsp.SymbolKind.Field, "label": lsp.SymbolKind.Variable, "latent variable": lsp.SymbolKind.Variable,
    "memory": lsp.SymbolKind.Variable, "view": lsp.SymbolKind.Variable, "lexicon": lsp.SymbolKind.File,
    "constant": lsp.SymbolKind.Constant, "feature group": lsp.SymbolKind.Module, "clique": lsp.SymbolKind.Class,
    "piece": lsp.SymbolKind.Class, "constraint": lsp.SymbolKind.Boolean, "stage": lsp.SymbolKind.Event,
    "data": lsp.SymbolKind.Interface, "infer": lsp.SymbolKind.Method, "decode": lsp.SymbolKind.Method,
    "evaluate": lsp.SymbolKind.Operator, "use": lsp.SymbolKind.File,
}  # fmt: skip
KIND_NUMBERS = {kind: number for number, kind in enumerate(COLOURS)}


# the server -----------------------------------------------------------------------------------------------------------


UNREADABLE = "$/unreadable"  # the protocol lets a server ignore what begins with `$/`
SECTION = "dcrf"  # of the settings
TRIGGERS = ["(", "{", "=", ",", ":", '"', "[", ".", " "]
SWITCH_SECONDS = 0.0001  # after which a check lets an answer go first


class _Protocol(LanguageServerProtocol):
    """Leaves the texts to the session, and answers requests that it cannot read."""

    left_early = False  # whether the editor said `exit` before `shutdown`

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        self.left_early = not self._shutdown
        yield from super().lsp_exit(*args)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message of a JSON object. One that cannot be read becomes a notification that nobody handles."""
        try:
            return super().structure_message(data)
        except JsonRpcException as reason:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=reason.to_response_error())
            return JsonRPCNotification(UNREADABLE, self.VERSION, None)

    def handle_message(self, message: Any) -> None:
        """Does what a message asks for. ValueError for other JSON, as a list, which the protocol does not have."""
        if not hasattr(message, "jsonrpc"):
            raise ValueError(f"{type(message).__name__}, expected an object with `jsonrpc`")
        super().handle_message(message)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        handler = self.fm.features.get(lsp.TEXT_DOCUMENT_DID_CHANGE)
        if handler is not None:
            yield handler, (params,), None


class TemplateServer(LanguageServer):
    """A session, and the forms of its answers."""

    def __init__(self) -> None:
        super().__init__("dcrfdsl", __version__, protocol_cls=_Protocol)
        self.session = EditorSession(self._publish, self._refresh)

    def at(self, document: Any, position: lsp.Position) -> tuple[OpenFile, Template, int]:
        """The open file, its template, and an offset in it."""
        one = self.file(document)
        return one, self.session.template(one), one.text.offset(position.line, position.character)

    def file(self, document: Any) -> OpenFile:
        one = self.session.files.get(document.uri)
        if one is None:
            raise _refused(f"{document.uri} is not open")
        return one

    def _uri_of(self, path: Path) -> str:
        one = self.session.opened(path)
        return one.uri if one is not None else from_fs_path(str(path)) or str(path)

    def _publish(self, path: Path, problems: Sequence[Problem]) -> None:
        one, text = self.session.opened(path), self.session.text_of(path)
        version = None if one is None else one.version
        shown = [self.diagnostic(text, problem) for problem in problems]
        uri = self._uri_of(path)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, version))

    def _refresh(self) -> None:
        workspace = self.client_capabilities.workspace
        if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def root(self) -> Path:
        return absolute(Path(self.workspace.root_path or "."))

    # forms of the protocol ----------------------------------------------------------------------------------------

    def range(self, text: EditorText, start: int, end: int) -> lsp.Range:
        return lsp.Range(lsp.Position(*text.position(start)), lsp.Position(*text.position(end)))

    def location(self, spot: answers.Spot) -> lsp.Location:
        return lsp.Location(self._uri_of(spot.path), self.range(self.session.text_of(spot.path), spot.start, spot.end))

    def diagnostic(self, text: EditorText, problem: Problem) -> lsp.Diagnostic:
        one = problem.diagnostic
        related = [
            lsp.DiagnosticRelatedInformation(
                self.location(answers.Spot(absolute(Path(label.span.source.name)), label.span.start, label.span.end)),
                label.text or "see here",
            )
            for label in one.secondary
        ]
        return lsp.Diagnostic(
            range=self.range(text, problem.start, problem.end),
            message=problem.message,
            severity=SEVERITY[one.severity],
            code=one.slug,
            source="dcrfdsl",
            related_information=related,
            tags=[lsp.DiagnosticTag.Unnecessary] if one.slug.startswith("idle-") else None,
            data={"explanation": explained(one.slug)},
        )

    def edits(self, edits: answers.Edits) -> lsp.WorkspaceEdit:
        changes = {self._uri_of(one): self.text_edits(self.session.text_of(one), edits[one]) for one in edits}
        return lsp.WorkspaceEdit(changes=changes)

    def text_edits(self, text: EditorText, edits: Iterable[answers.Edit]) -> list[lsp.TextEdit]:
        return [lsp.TextEdit(self.range(text, one.start, one.end), one.text) for one in edits]

    def action(self, action: answers.CodeAction, diagnostics: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
        return lsp.CodeAction(
            title=action.title,
            kind=action.kind,
            diagnostics=list(diagnostics) or None,
            is_preferred=action.preferred or None,
            edit=self.edits(action.edits),
        )

    def symbol(self, text: EditorText, symbol: answers.Symbol) -> lsp.DocumentSymbol:
        return lsp.DocumentSymbol(
            name=symbol.name,
            detail=symbol.detail,
            kind=SYMBOL_KINDS.get(symbol.kind, lsp.SymbolKind.Object),
            range=self.range(text, symbol.start, symbol.end),
            selection_range=self.range(text, symbol.name_start, symbol.name_end),
            children=[self.symbol(text, child) for child in symbol.children],
        )


def _path_of(uri: str) -> Path:
    """The path of a text; a text without a file, or with a name that no file can have, is named by its URI."""
    path = to_fs_path(uri)
    return Path(path if path and "\0" not in path else uri.replace("/", "_"))


def _refused(words: str) -> JsonRpcException:
    return JsonRpcException(words, lsp.LSPErrorCodes.RequestFailed.value)


def _is_failure(record: logging.LogRecord) -> bool:
    """Whether a message of pygls is about more than a request that was refused, which the editor shows by itself.

    Of what is no message of the protocol one line is left: the fault is not in this program.
    """
    reason = record.exc_info[1] if record.exc_info else None
    if isinstance(reason, ValueError | RecursionError) and record.msg == "Unable to handle message":
        what = "no JSON" if isinstance(reason, json.JSONDecodeError) else "no message"
        said = reason if isinstance(reason, ValueError) else "it is nested too deeply"
        record.msg, record.args, record.exc_info = "what came is %s: %s", (what, said), None
    return not isinstance(reason, JsonRpcException) and not str(record.msg).startswith("Unable to deserialize")


def serve() -> None:
    """Answers on stdin and stdout until the editor ends the session."""
    sys.setswitchinterval(SWITCH_SECONDS)
    for name in ("pygls.protocol.json_rpc", "pygls.server"):
        logging.getLogger(name).addFilter(_is_failure)
    server = TemplateServer()
    for method, handler, options in (*TEXTS, *ANSWERS):
        server.feature(method, options)(handler)
    server.start_io(*_streams())
    server.session.end()
    if getattr(server.protocol, "left_early", False):
        sys.exit(1)  # as the protocol has it


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Copies of stdin and stdout, as pygls closes them. What anything else prints goes to stderr, so that it does not
    come between the messages.
    """
    try:
        copies = os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    except OSError:  # they are no files
        return sys.stdin.buffer, sys.stdout.buffer
    return os.fdopen(copies[0], "rb"), io.BufferedWriter(WholeWriter(io.FileIO(copies[1], "wb")))


# texts and settings -------------------------------------------------------------------------------------------------


def _initialize(server: TemplateServer, params: lsp.InitializeParams) -> None:
    encoding = server.workspace.position_encoding
    server.session.encoding = str(getattr(encoding, "value", encoding) or UTF16)
    server.session.settings = read_settings(params.initialization_options, server.root())
    server.session.workspace.registered = server.session.settings.own_functions()
    server.session.start()


async def _initialized(server: TemplateServer, params: lsp.InitializedParams) -> None:
    await _ask_settings(server)
    workspace = server.client_capabilities.workspace
    if workspace and workspace.did_change_watched_files and workspace.did_change_watched_files.dynamic_registration:
        watchers = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher("**/*.dcrf")])
        registration = lsp.Registration(SECTION, lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, watchers)
        await server.client_register_capability_async(lsp.RegistrationParams([registration]))


async def _ask_settings(server: TemplateServer) -> None:
    workspace = server.client_capabilities.workspace
    if workspace and workspace.configuration:
        item = lsp.ConfigurationItem(section=SECTION)
        given = await server.workspace_configuration_async(lsp.ConfigurationParams([item]))
        if given and given[0]:
            server.session.configure(read_settings(given[0], server.root()))


async def _configured(server: TemplateServer, params: lsp.DidChangeConfigurationParams) -> None:
    if params.settings:
        server.session.configure(read_settings(params.settings, server.root()))
    else:
        await _ask_settings(server)


def _opened(server: TemplateServer, params: lsp.DidOpenTextDocumentParams) -> None:
    one = params.text_document
    server.session.open(one.uri, _path_of(one.uri), one.version, one.text)


def _changed(server: TemplateServer, params: lsp.DidChangeTextDocumentParams) -> None:
    text = server.file(params.text_document).text
    for change in params.content_changes:
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = change.range.start, change.range.end
            text = text.changed((start.line, start.character), (end.line, end.character), change.text)
        else:
            text = EditorText(change.text, server.session.encoding)
    server.session.change(params.text_document.uri, params.text_document.version, text)


def _closed(server: TemplateServer, params: lsp.DidCloseTextDocumentParams) -> None:
    server.session.close(params.text_document.uri)


def _saved(server: TemplateServer, params: lsp.DidSaveTextDocumentParams) -> None:
    server.session.touch(absolute(_path_of(params.text_document.uri)))


def _watched(server: TemplateServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    for change in params.changes:
        server.session.touch(absolute(_path_of(change.uri)))


# answers ------------------------------------------------------------------------------------------------------------


def _hover(server: TemplateServer, params: lsp.HoverParams) -> lsp.Hover | None:
    one, template, offset = server.at(params.text_document, params.position)
    found = hover(template, offset, server.session.workspace, server.session.costs(one))
    if found is None:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.markdown)
    return lsp.Hover(content, server.range(one.text, found.start, found.end))


def _completion(server: TemplateServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    one, template, offset = server.at(params.text_document, params.position)
    found = propose(template, offset, server.session.workspace, server.session.costs(one).states)
    place = server.range(one.text, found.start, found.end)
    return lsp.CompletionList(
        is_incomplete=False,
        items=[
            lsp.CompletionItem(
                label=one.label,
                kind=COMPLETION_KINDS.get(one.kind, KIND.Value),
                detail=one.detail or one.kind,
                sort_text=f"{n:04d}",
                filter_text=one.label,
                text_edit=lsp.TextEdit(place, one.insert or one.label),
                documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.documentation)
                if one.documentation
                else None,
            )
            for n, one in enumerate(found.items)
        ],
    )


def _signature(server: TemplateServer, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    _, template, offset = server.at(params.text_document, params.position)
    found = signature(template, offset)
    if found is None:
        return None
    parameters = [lsp.ParameterInformation((start, end), words) for start, end, words in found.parameters]
    one = lsp.SignatureInformation(found.label, found.documentation, parameters, found.active)
    return lsp.SignatureHelp([one], 0, found.active)


def _definition(server: TemplateServer, params: lsp.DefinitionParams) -> list[lsp.Location]:
    _, template, offset = server.at(params.text_document, params.position)
    found = definitions(template, offset, server.session.workspace.names(template))
    return [server.location(spot) for spot in found]


def _references(server: TemplateServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    _, template, offset = server.at(params.text_document, params.position)
    names = server.session.workspace.names(template)
    found = name_at(template, offset, names)
    related, declared = server.session.related(template), params.context.include_declaration
    return [server.location(spot) for spot in (references(found, names, related, declared) if found else ())]


def _highlights(server: TemplateServer, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    one, template, offset = server.at(params.text_document, params.position)
    names = server.session.workspace.names(template)
    found = name_at(template, offset, names)
    spots = references(found, names, [template]) if found else []
    return [lsp.DocumentHighlight(server.range(one.text, spot.start, spot.end)) for spot in spots]


def _renameable(server: TemplateServer, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
    one, template, offset = server.at(params.text_document, params.position)
    try:
        found = renameable(template, offset, server.session.workspace.names(template))
    except answers.Refused as reason:
        raise _refused(str(reason)) from None
    return lsp.PrepareRenamePlaceholder(server.range(one.text, found.start, found.end), found.name)


def _rename(server: TemplateServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    _, template, offset = server.at(params.text_document, params.position)
    names, related = server.session.workspace.names(template), server.session.related(template)
    try:
        return server.edits(rename(template, offset, params.new_name, names, related))
    except answers.Refused as reason:
        raise _refused(str(reason)) from None


def _symbols(server: TemplateServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    one = server.file(params.text_document)
    return [server.symbol(one.text, symbol) for symbol in symbols(server.session.template(one))]


def _folds(server: TemplateServer, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    one = server.file(params.text_document)
    found = folds(server.session.template(one))
    places = [(one.text.position(fold.start)[0], one.text.position(fold.end)[0]) for fold in found]
    return [lsp.FoldingRange(*lines, kind=fold.kind) for lines, fold in zip(places, found, strict=True)]


def _colours(server: TemplateServer, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    """Five numbers a word: lines and columns from the word before, length, kind, modifiers."""
    opened = server.file(params.text_document)
    text, template = opened.text, server.session.template(opened)
    data: list[int] = []
    line = column = 0
    for one in colours(template, server.session.workspace.names(template)):  # none crosses the end of a line
        first, start = text.position(one.start)
        modifiers = one.declares | one.documents << 1  # a bit each, in the order of MODIFIERS
        shift = start - column if first == line else start
        data += [first - line, shift, text.length(one.start, one.end), KIND_NUMBERS[one.kind], modifiers]
        line, column = first, start
    return lsp.SemanticTokens(data)


def _layout(server: TemplateServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    one = server.file(params.text_document)
    return server.text_edits(one.text, layout_edits(one.text.code))


def _hints(server: TemplateServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    one, template, start = server.at(params.text_document, params.range.start)
    end = one.text.offset(params.range.end.line, params.range.end.character)
    found = inlay_hints(template, start, end, server.session.costs(one))
    return [
        lsp.InlayHint(lsp.Position(*one.text.position(hint.at)), hint.text, tooltip=hint.tooltip, padding_left=True)
        for hint in found
    ]


def _actions(server: TemplateServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Fixes of the problems in the range, and changes of form; only those of the text as it is."""
    one, template, start = server.at(params.text_document, params.range.start)
    end = one.text.offset(params.range.end.line, params.range.end.character)
    analysis = one.fresh
    only = params.context.only
    found: list[lsp.CodeAction] = []
    for problem in analysis.problems.get(one.path, ()) if analysis else ():
        if problem.start <= end and problem.end >= start:
            shown = server.diagnostic(one.text, problem)
            found += [server.action(action, [shown]) for action in quick_fixes(template, problem)]
    names = server.session.workspace.names(template)
    resolved = analysis.resolved if analysis and not analysis.has_errors else None
    found += [server.action(action, []) for action in refactorings(template, start, end, names, resolved)]
    return [action for action in found if only is None or any(str(action.kind).startswith(kind) for kind in only)]


TEXTS = (
    (lsp.INITIALIZE, _initialize, None),
    (lsp.INITIALIZED, _initialized, None),
    (lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, _configured, None),
    (lsp.TEXT_DOCUMENT_DID_OPEN, _opened, None),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
    (lsp.TEXT_DOCUMENT_DID_SAVE, _saved, None),
    (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, _watched, None),
)
LEGEND = lsp.SemanticTokensLegend(list(COLOURS), list(MODIFIERS))
KINDS_OF_ACTIONS = [
    lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorExtract, lsp.CodeActionKind.RefactorRewrite,
]  # fmt: skip
ANSWERS: tuple[tuple[str, Any, Any], ...] = (
    (lsp.TEXT_DOCUMENT_HOVER, _hover, None),
    (lsp.TEXT_DOCUMENT_COMPLETION, _completion, lsp.CompletionOptions(trigger_characters=TRIGGERS)),
    (lsp.TEXT_DOCUMENT_SIGNATURE_HELP, _signature, lsp.SignatureHelpOptions(["(", ","])),
    (lsp.TEXT_DOCUMENT_DEFINITION, _definition, None),
    (lsp.TEXT_DOCUMENT_REFERENCES, _references, None),
    (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, _highlights, None),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, _renameable, None),
    (lsp.TEXT_DOCUMENT_RENAME, _rename, lsp.RenameOptions(prepare_provider=True)),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols, None),
    (lsp.TEXT_DOCUMENT_FOLDING_RANGE, _folds, None),
    (lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _colours, LEGEND),
    (lsp.TEXT_DOCUMENT_FORMATTING, _layout, None),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, _hints, None),
    (lsp.TEXT_DOCUMENT_CODE_ACTION, _actions, lsp.CodeActionOptions(KINDS_OF_ACTIONS)),
)
