"""From the parsed text of one element to clean text and the runs that lead back."""

import re
from collections.abc import Iterator

from rapidfuzz.distance import Levenshtein

from schemas.names import ElementKind
from tasks.normalize import characters
from tasks.normalize.hyphens import WordForms, rejoined
from tasks.normalize.mapped import Edit, MappedText
from tasks.normalize.settings import NormalizeSettings

_VERBATIM = frozenset({ElementKind.CODE.value})
_NO_HYPHENATION = frozenset({ElementKind.TABLE.value, ElementKind.FORMULA.value})

# What no step would touch: printable ASCII without runs of spaces, and no space at either end.
_PLAIN = re.compile(r"[!-~]+(?: [!-~]+)*")

_WIDE = f"{characters.SPACE}"
# White space that is more than one plain space.
_PROSE_SPACE = re.compile(f"[\t\n{_WIDE}][ \t\n{_WIDE}]*| [ \t\n{_WIDE}]+")
_LINE_SPACE = re.compile(f"[\t{_WIDE}][ \t{_WIDE}]*| [ \t{_WIDE}]+")
_EDGES = re.compile(r"\A\s+|\s+\Z")
_CODE_EDGES = re.compile(r"\A\s*\n|\s+\Z")
# Without this no mojibake can be repaired: it takes two neighbours outside ASCII, or one that is more than punctuation.
_REPAIRABLE = re.compile("[^\x00-\x7f\u00a0\u00ab\u00bb\u2010-\u2026]|[^\x00-\x7f]{2}")
_CODE_LINE_END = re.compile("\r\n?")
_TABLE_SPACE = re.compile(f"[ {_WIDE}]+")
_LINE_FOLD = re.compile(r"[ \t]*\n[ \t\n]*")
# Scripts that put no space between words: a line end inside them is nothing.
_UNSPACED = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_UNSPACED_LINE_END = re.compile(f"(?<=[{_UNSPACED}])[ \t]*\n[ \t\n]*(?=[{_UNSPACED}])")
_TYPOGRAPHIC_HYPHEN = re.compile("[\u2010\u2011]")

_ALIGNED_LINE_LIMIT = 20_000
_MAX_ROUNDS = 8


def clean(
    text: str | MappedText, kind: str, forms: WordForms, settings: NormalizeSettings, *, soft_breaks: bool = True
) -> MappedText:
    """The clean form of an element's text, with its way back; a text that is mapped already is changed in place.

    One pass may lay open work for an earlier step (a removed invisible character can complete a ligature or leave
    two spaces), so the passes repeat until nothing changes: the result is a fixed point.

    >>> clean("The \\ufb01rst\\u00a0 step", "paragraph", WordForms.of([]), NormalizeSettings()).text
    'The first step'
    """
    mapped = MappedText(text) if isinstance(text, str) else text
    if _PLAIN.fullmatch(mapped.text):
        return mapped
    for _ in range(_MAX_ROUNDS):
        before = mapped.text
        _one_pass(mapped, kind, forms, settings, soft_breaks)
        if mapped.text == before:
            break
    return mapped


def _one_pass(mapped: MappedText, kind: str, forms: WordForms, settings: NormalizeSettings, soft_breaks: bool) -> None:
    if kind in _VERBATIM:
        _verbatim_pass(mapped, settings)
        return
    ascii_only = mapped.text.isascii()
    if settings.repair_mojibake and not ascii_only:
        mapped.apply(_repaired(mapped.text))
    mapped.apply(characters.unified_line_ends(mapped.text))
    if not ascii_only:
        if settings.form == "NFC":
            mapped.apply(characters.composed(mapped.text))
        if settings.fold_presentation_forms:
            mapped.apply(characters.folded_presentation_forms(mapped.text))
    if settings.join_line_end_hyphens and kind not in _NO_HYPHENATION:
        mapped.apply(rejoined(mapped.text, forms, soft_breaks=soft_breaks))
    if not ascii_only:
        if settings.remove_invisible:
            mapped.apply(characters.removed_invisible(mapped.text))
        if settings.fold_hyphens:
            mapped.apply(Edit(m.start(), m.end(), "-") for m in _TYPOGRAPHIC_HYPHEN.finditer(mapped.text))
    if settings.remove_controls:
        mapped.apply(characters.removed_controls(mapped.text))
    _fold(mapped, kind, settings)


def _verbatim_pass(mapped: MappedText, settings: NormalizeSettings) -> None:
    """Code stays as its author wrote it: one kind of line end, no control characters, no blank lines at its edges."""
    mapped.apply(Edit(m.start(), m.end(), "\n") for m in _CODE_LINE_END.finditer(mapped.text))
    if settings.remove_controls:
        mapped.apply(characters.removed_controls(mapped.text))
    mapped.apply(_trimmed(mapped.text, _CODE_EDGES))


def _fold(mapped: MappedText, kind: str, settings: NormalizeSettings) -> None:
    if kind == ElementKind.TABLE:
        if settings.fold_spaces:
            mapped.apply(_folded_cells(mapped.text))
        return
    if settings.fold_line_ends:
        mapped.apply(Edit(m.start(), m.end(), "") for m in _UNSPACED_LINE_END.finditer(mapped.text))
        if not settings.fold_spaces:
            mapped.apply(_squeezed(mapped.text, _LINE_FOLD))
    if settings.fold_spaces:
        pattern = _PROSE_SPACE if settings.fold_line_ends else _LINE_SPACE
        mapped.apply(_squeezed(mapped.text, pattern))
    mapped.apply(_trimmed(mapped.text, _EDGES))


def _squeezed(text: str, pattern: re.Pattern[str]) -> Iterator[Edit]:
    """Each match becomes one space: its first character one to one, the others removed."""
    for match in pattern.finditer(text):
        start, end = match.span()
        yield Edit(start, start + 1, " ")
        if end > start + 1:
            yield Edit(start + 1, end, "")


def _folded_cells(text: str) -> Iterator[Edit]:
    """Runs of spaces inside a cell become one; spaces at the edges of a cell go. Tabs and line feeds stay."""
    for match in _TABLE_SPACE.finditer(text):
        start, end = match.span()
        if start == 0 or end == len(text) or text[start - 1] in "\t\n" or text[end] in "\t\n":
            yield Edit(start, end, "")
        elif match[0] != " ":
            yield Edit(start, start + 1, " ")
            if end > start + 1:
                yield Edit(start + 1, end, "")


def _trimmed(text: str, edges: re.Pattern[str]) -> Iterator[Edit]:
    return (Edit(m.start(), m.end(), "") for m in edges.finditer(text) if m.end() > m.start())


def _repaired(text: str) -> Iterator[Edit]:
    """Mojibake repair line by line, as edits of the stretches that changed."""
    import ftfy
    from ftfy.badness import is_bad

    if not _REPAIRABLE.search(text) or not is_bad(text):
        return
    at = 0
    for line in text.splitlines(keepends=True):
        fixed = ftfy.fix_encoding(line)
        if fixed != line:
            yield from _difference(line, fixed, at)
        at += len(line)


def _difference(old: str, new: str, at: int) -> Iterator[Edit]:
    if len(old) > _ALIGNED_LINE_LIMIT:
        yield Edit(at, at + len(old), new)
        return
    pending: list[int] | None = None
    for operation in Levenshtein.opcodes(old, new):
        i, j, k, m = operation.src_start, operation.src_end, operation.dest_start, operation.dest_end
        if operation.tag == "equal":
            if pending is not None:
                yield Edit(at + pending[0], at + pending[1], new[pending[2] : pending[3]])
                pending = None
        elif pending is None:
            pending = [i, j, k, m]
        else:
            pending[1], pending[3] = j, m
    if pending is not None:
        yield Edit(at + pending[0], at + pending[1], new[pending[2] : pending[3]])
