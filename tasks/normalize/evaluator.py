"""Measures of the normalize stage; all are free."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from schemas.names import StageName
from tasks.metrics.rows import MetricRows
from tasks.normalize.characters import count_invisible
from tasks.normalize.confusables import mixed_script_words
from tasks.normalize.hyphens import WordForms
from tasks.normalize.settings import NormalizeSettings
from tasks.normalize.text import clean
from tasks.stage import Evidence

_READ = {
    StageName.PARSE: ("elements.element_id", "elements.kind", "elements.text"),
    StageName.BOILERPLATE: ("keep", "cuts"),
}
_NOTHING_BROKEN = WordForms.of(())


def evaluate(evidence: Evidence, settings: NormalizeSettings) -> pa.Table:
    """The rows of each document; figures of the parsed text are over the elements that were kept."""
    rows = MetricRows(StageName.NORMALIZE)
    outputs = evidence.output.to_pylist()
    for (document, tables), output in zip(evidence.batch.rows(_READ), outputs, strict=True):
        document_id = document["document_id"]
        elements = tables[StageName.PARSE]["elements"]
        judged = tables[StageName.BOILERPLATE]
        kept = [element for element, kept in zip(elements, judged["keep"], strict=True) if kept]
        cut = sum(part["end"] - part["start"] for part in judged["cuts"] or ())
        _document_rows(rows, document_id, kept, cut, output, settings)
    return rows.table()


def _document_rows(
    rows: MetricRows,
    document_id: str,
    kept: Sequence[Mapping[str, Any]],
    cut: int,
    output: Mapping[str, Any],
    settings: NormalizeSettings,
) -> None:
    parsed = [element["text"] for element in kept]
    kinds = {element["element_id"]: element["kind"] for element in kept}
    text = output["text"]
    pieces = [(kinds[span["element_id"]], text[span["start"] : span["end"]]) for span in output["elements"]]

    rows.ratio("nfc_equals_nfkc", document_id, int(all(map(nfc_equals_nfkc, parsed))), 1)
    rows.ratio("invisible_characters", document_id, sum(map(count_invisible, parsed)), 1)
    rows.ratio("invisible_characters_left", document_id, count_invisible(text), 1)
    rows.ratio("mixed_script_confusables", document_id, *mixed_script_words(text))
    rows.ratio("mojibake_rate", document_id, *mojibake([piece for _, piece in pieces]))
    rows.ratio("mojibake_rate", document_id, *mojibake(parsed), slice_of=("text", "parsed"))
    stable = all(clean(piece, kind, _NOTHING_BROKEN, settings).text == piece for kind, piece in pieces)
    rows.ratio("idempotence", document_id, int(stable), 1)
    # What was cut away before is not this stage's change.
    changed = changed_characters({element["element_id"]: element["text"] for element in kept}, output) - cut
    rows.ratio("changed_ratio", document_id, changed, sum(map(len, parsed)) - cut)


def nfc_equals_nfkc(text: str) -> bool:
    """Whether the text holds no compatibility form.

    >>> nfc_equals_nfkc("cafe\u0301"), nfc_equals_nfkc("e\ufb03cient"), nfc_equals_nfkc("")
    (True, False, True)
    """
    return text.isascii() or unicodedata.normalize("NFC", text) == unicodedata.normalize("NFKC", text)


def mojibake(segments: Sequence[str]) -> tuple[int, int]:
    """(segments that look wrongly decoded by ftfy's heuristic, segments with text).

    >>> mojibake(["caf\u00c3\u00a9 au lait", "caf\u00e9 au lait", ""])
    (1, 2)
    """
    from ftfy.badness import is_bad

    filled = [segment for segment in segments if segment.strip()]
    return sum(1 for segment in filled if not segment.isascii() and is_bad(segment)), len(filled)


def changed_characters(parsed: Mapping[int, str], output: Mapping[str, Any]) -> int:
    """Characters of the parsed text that did not come through as themselves: replaced or removed.

    >>> runs = [{"start": 0, "end": 3, "element_id": 0, "source_start": 0, "source_end": 3}]
    >>> changed_characters({0: "a\\nb "}, {"text": "a b", "offsets": runs})
    2
    """
    text = output["text"]
    same = 0
    for run in output["offsets"]:
        made = text[run["start"] : run["end"]]
        source = parsed[run["element_id"]][run["source_start"] : run["source_end"]]
        if made == source:
            same += len(made)
        elif len(made) == len(source):
            same += sum(1 for a, b in zip(made, source, strict=True) if a == b)
    return sum(map(len, parsed.values())) - same
