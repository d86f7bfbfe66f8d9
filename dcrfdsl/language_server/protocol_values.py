"""Answers in the forms of the Language Server Protocol. Not here: the answers, and when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp

from .answers import (
    CodeAction,
    Colour,
    Edit,
    Edits,
    Fold,
    HoverText,
    InlayText,
    Proposal,
    SignatureText,
    Spot,
    Symbol,
)
from .template_index import absolute
from .template_problems import Problem, explained
from .text_positions import EditorText
from .word_colours import COLOURS, MODIFIERS

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
MODIFIER_BITS = {
    (declares, documents): declares << MODIFIERS.index("declaration") | documents << MODIFIERS.index("documentation")
    for declares in (False, True)
    for documents in (False, True)
}


class ProtocolValues:
    """text_of: the lines of a file.   uri_of: its name in the protocol."""

    def __init__(self, text_of: Callable[[Path], EditorText], uri_of: Callable[[Path], str]):
        self.text_of, self.uri_of = text_of, uri_of

    def range(self, text: EditorText, start: int, end: int) -> lsp.Range:
        return lsp.Range(lsp.Position(*text.position(start)), lsp.Position(*text.position(end)))

    def location(self, spot: Spot) -> lsp.Location:
        return lsp.Location(self.uri_of(spot.path), self.range(self.text_of(spot.path), spot.start, spot.end))

    # problems and actions -----------------------------------------------------------------------------------------

    def diagnostic(self, text: EditorText, problem: Problem) -> lsp.Diagnostic:
        one = problem.diagnostic
        related = [
            lsp.DiagnosticRelatedInformation(
                self.location(Spot(absolute(Path(label.span.source.name)), label.span.start, label.span.end)),
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

    def edits(self, edits: Edits) -> lsp.WorkspaceEdit:
        return lsp.WorkspaceEdit(
            changes={self.uri_of(path): self.text_edits(self.text_of(path), listed) for path, listed in edits.items()}
        )

    def text_edits(self, text: EditorText, edits: Iterable[Edit]) -> list[lsp.TextEdit]:
        return [lsp.TextEdit(self.range(text, one.start, one.end), one.text) for one in edits]

    def action(self, action: CodeAction, diagnostics: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
        return lsp.CodeAction(
            title=action.title,
            kind=action.kind,
            diagnostics=list(diagnostics) or None,
            is_preferred=action.preferred or None,
            edit=self.edits(action.edits),
        )

    # answers at the cursor ----------------------------------------------------------------------------------------

    def hover(self, text: EditorText, hover: HoverText) -> lsp.Hover:
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, hover.markdown)
        return lsp.Hover(content, self.range(text, hover.start, hover.end))

    def completion(self, text: EditorText, items: Sequence[Proposal], start: int, end: int) -> lsp.CompletionList:
        place = self.range(text, start, end)
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
                for n, one in enumerate(items)
            ],
        )

    def signature(self, signature: SignatureText) -> lsp.SignatureHelp:
        parameters = [lsp.ParameterInformation((start, end), words) for start, end, words in signature.parameters]
        active = signature.active
        one = lsp.SignatureInformation(signature.label, signature.documentation, parameters, active)
        return lsp.SignatureHelp([one], 0, active)

    # the whole text -----------------------------------------------------------------------------------------------

    def symbol(self, text: EditorText, symbol: Symbol) -> lsp.DocumentSymbol:
        return lsp.DocumentSymbol(
            name=symbol.name,
            detail=symbol.detail,
            kind=SYMBOL_KINDS.get(symbol.kind, lsp.SymbolKind.Object),
            range=self.range(text, symbol.start, symbol.end),
            selection_range=self.range(text, symbol.name_start, symbol.name_end),
            children=[self.symbol(text, child) for child in symbol.children],
        )

    def fold(self, text: EditorText, fold: Fold) -> lsp.FoldingRange:
        first, last = text.position(fold.start)[0], text.position(fold.end)[0]
        return lsp.FoldingRange(first, last, kind=fold.kind)

    def colours(self, text: EditorText, colours: Iterable[Colour]) -> lsp.SemanticTokens:
        """Five numbers a word: lines and columns from the word before, length, kind, modifiers."""
        data: list[int] = []
        line = column = 0
        for one in colours:  # none crosses the end of a line
            first, start = text.position(one.start)
            modifiers = MODIFIER_BITS[one.declares, one.documents]
            shift = start - column if first == line else start
            data += [first - line, shift, text.length(one.start, one.end), KIND_NUMBERS[one.kind], modifiers]
            line, column = first, start
        return lsp.SemanticTokens(data)

    def inlay(self, text: EditorText, hint: InlayText) -> lsp.InlayHint:
        position = lsp.Position(*text.position(hint.at))
        return lsp.InlayHint(position, hint.text, tooltip=hint.tooltip, padding_left=True)
