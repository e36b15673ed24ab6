"""What each stage hands on of a document, as text in which a passage can be looked for."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from schemas.names import StageName
from tasks.documents.offsets import RedactionMap
from tasks.metrics.intervals import Interval, union

_CLEAN = (StageName.NORMALIZE,)
_CHUNKED = (StageName.NORMALIZE, StageName.PII, StageName.CHUNK)

READS: Mapping[StageName, tuple[StageName, ...]] = MappingProxyType(
    {
        StageName.PARSE: (StageName.PARSE,),
        StageName.BOILERPLATE: (StageName.PARSE, StageName.BOILERPLATE),
        StageName.NORMALIZE: _CLEAN,
        StageName.LANGUAGE: _CLEAN,
        StageName.DEDUP: _CLEAN,
        StageName.PII: (StageName.NORMALIZE, StageName.PII),
        StageName.CHUNK: _CHUNKED,
        StageName.METADATA: _CHUNKED,
        StageName.EMBED: (*_CHUNKED, StageName.EMBED),
        StageName.INDEX: _CHUNKED,
    }
)
"""The stages whose rows say what a stage hands on. Language and metadata annotate: what came in goes on."""

COLUMNS: Mapping[StageName, tuple[str, ...]] = MappingProxyType(
    {
        StageName.PARSE: ("document_id", "elements.element_id", "elements.text"),
        StageName.BOILERPLATE: ("document_id", "keep", "cuts"),
        StageName.NORMALIZE: ("document_id", "text"),
        StageName.PII: ("document_id", "text", "spans"),
        StageName.CHUNK: (
            "document_id",
            *(f"chunks.{name}" for name in ("chunk_id", "start", "end", "text", "prefix_length")),
        ),
        StageName.EMBED: ("document_id", "embeddings"),
        StageName.DEDUP: ("document_id", "duplicate_of"),
    }
)
"""What of these rows is read, and of the decision of dedup (columns as `narrowed` names them)."""

Row = Mapping[str, Any]


def text_before_redaction(stage: StageName, rows: Mapping[StageName, Row]) -> str:
    """The text of the elements (parse), of what is kept of them (boilerplate), or the clean text (from there on)."""
    if stage not in (StageName.PARSE, StageName.BOILERPLATE):
        return str(rows[StageName.NORMALIZE]["text"])
    elements = rows[StageName.PARSE]["elements"]
    if stage is StageName.BOILERPLATE:
        return "\n\n".join(_kept(elements, rows[StageName.BOILERPLATE]))
    return "\n\n".join(element["text"] for element in elements)


def _kept(elements: Sequence[Row], decided: Row) -> list[str]:
    cuts: dict[int, list[Interval]] = {}
    for cut in decided["cuts"] or ():
        cuts.setdefault(cut["element_id"], []).append((cut["start"], cut["end"]))
    kept = []
    for element, keep in zip(elements, decided["keep"], strict=True):
        if keep:
            text = element["text"]
            for start, end in reversed(cuts.get(element["element_id"], [])):
                text = text[:start] + text[end:]
            kept.append(text)
    return kept


class Redacted:
    """A document's clean text and what redaction made of it."""

    def __init__(self, clean: str, redacted: Row, on_purpose: Sequence[Interval]) -> None:
        self._clean = clean
        self._text: str = redacted["text"]
        self._spans: Sequence[Row] = redacted["spans"]
        self._map = RedactionMap(self._spans)
        self._on_purpose = union(on_purpose)

    def passage(self, start: int, end: int) -> str | None:
        """The redacted words of the clean passage [start, end); null where words of it are gone that nobody asked for.

        What was labelled as personal data may be gone; of everything else the letters and digits must be there.
        """
        position, expected = start, []
        for span in self._spans:
            if span["end"] <= start or span["start"] >= end:
                continue
            instead = self._text[span["redacted_start"] : span["redacted_end"]]
            if instead != self._clean[span["start"] : span["end"]] and self._is_lost(
                max(start, span["start"]), min(end, span["end"])
            ):
                return None
            expected += [self._clean[position : max(start, span["start"])], instead]
            position = span["end"]
        expected.append(self._clean[position:end] if position < end else "")
        passage = self._text[self._map.to_redacted(start) : self._map.to_redacted(end, end=True)]
        return passage if "".join(expected) == passage else None

    def _is_lost(self, start: int, end: int) -> bool:
        """Whether masking [start, end) took letters or digits that no label calls personal data."""
        asked_for = {i for a, b in self._on_purpose for i in range(max(a, start), min(b, end))}
        return any(self._clean[i].isalnum() and i not in asked_for for i in range(start, end))

    def chunked(self, chunks: Sequence[Row], texts: Mapping[str, str]) -> str:
        """The redacted text that chunks hold together: those named in `texts`, with the text that stands there.

        What a chunk repeats (its prefix, the overlap with the one before) is there once.
        """
        parts: list[str] = []
        covered = 0
        for chunk in sorted(chunks, key=lambda chunk: (chunk["start"], chunk["end"])):
            text = texts.get(chunk["chunk_id"])
            if text is None or chunk["end"] <= covered:
                continue
            repeated = chunk["prefix_length"]
            if chunk["start"] < covered:
                repeated += self._map.to_redacted(covered) - self._map.to_redacted(chunk["start"])
            parts += ["" if chunk["start"] <= covered else "\n", text[repeated:]]
            covered = chunk["end"]
        return "".join(parts)


def texts_of(stage: StageName, rows: Mapping[StageName, Row], fetched: Mapping[str, str]) -> Mapping[str, str]:
    """The texts of the chunks that a stage hands on, by chunk id: those of the chunk stage, of them those that have a
    vector (embed), or what was fetched from the index."""
    if stage is StageName.INDEX:
        return fetched
    texts = {chunk["chunk_id"]: chunk["text"] for chunk in rows[StageName.CHUNK]["chunks"]}
    if stage is StageName.EMBED:
        embedded = {row["chunk_id"] for row in rows[StageName.EMBED]["embeddings"] if len(row["vector"])}
        return {chunk_id: text for chunk_id, text in texts.items() if chunk_id in embedded}
    return texts
