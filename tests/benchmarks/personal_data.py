"""Personal data on labelled text: precision and recall by type and matching, and speed against presidio's own loop.

    python -m tests.benchmarks.personal_data quality DATA      DATA holds presidio-research/ and wikigold/
    python -m tests.benchmarks.personal_data speed DATA

Each text is one paragraph of one document; repeated texts count once. Labels of types that the default policy does not
look for are left out; for wikigold places and organizations are looked for too.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from tasks.metrics.spans import Span, SpanMatch, span_counts_by_type
from tasks.pii.detection import Find, find_all
from tasks.pii.names import announced_names
from tasks.pii.settings import ENGLISH_MODEL, PiiSettings
from tasks.pii.stage import run
from tasks.pii.telephone import telephone_numbers
from tests.tasks.pii.conftest import batch, document

Labelled: TypeAlias = tuple[str, list[Span]]

_SAME = {"PER": "PERSON", "LOC": "LOCATION", "ORG": "ORGANIZATION", "GPE": "LOCATION"}


def main() -> None:
    """Prints one table, or the seconds of both and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    synthetic = list(_presidio(given.data / "presidio-research" / "synth_dataset_v2.json"))
    if given.what == "speed":
        _speed([text for text, _ in synthetic[:400]])
        return
    _quality("presidio-research, synth_dataset_v2", synthetic, PiiSettings())
    encyclopedia = list(_conll(given.data / "wikigold" / "CONLL-format" / "data" / "wikigold.conll.txt"))
    _quality("wikigold", encyclopedia, PiiSettings(policy={"LOCATION": "mask", "ORGANIZATION": "mask"}))


def _presidio(path: Path) -> Iterator[Labelled]:
    seen: set[str] = set()
    for sample in json.loads(path.read_text(encoding="utf-8")):
        if sample["full_text"] not in seen:
            seen.add(sample["full_text"])
            yield (
                sample["full_text"],
                [_span(s["start_position"], s["end_position"], s["entity_type"]) for s in sample["spans"]],
            )


def _conll(path: Path) -> Iterator[Labelled]:
    """Sentences of tokens, joined by spaces; neighbouring tokens of one type are one name (IO tagging)."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        tokens = [
            line.rsplit(" ", 1) for line in block.splitlines() if line.strip() and not line.startswith("-DOCSTART-")
        ]
        text, spans, before = "", list[Span](), "O"
        for token, tag in tokens:
            start = len(text) + (1 if text else 0)
            text = f"{text} {token}" if text else token
            kind = tag.removeprefix("I-")
            if kind == before and kind != "O":
                spans[-1] = Span(spans[-1].start, len(text), spans[-1].type)
            elif kind not in ("O", "MISC"):
                spans.append(_span(start, len(text), kind))
            before = kind if kind != "MISC" else "O"
        if text:
            yield text, spans


def _span(start: int, end: int, kind: str) -> Span:
    return Span(start, end, _SAME.get(kind, kind))


def _quality(name: str, labelled: Sequence[Labelled], settings: PiiSettings) -> None:
    made = batch(*(document(str(i), [text]) for i, (text, _) in enumerate(labelled)))
    output = run(made, settings, None).table.to_pylist()  # type: ignore[arg-type]
    sums: dict[tuple[str, SpanMatch], Counter[str]] = {}
    for (_, spans), row in zip(labelled, output, strict=True):
        true = [span for span in spans if settings.analyses(span.type)]
        predicted = [Span(s["start"], s["end"], s["type"]) for s in row["spans"]]
        for match in SpanMatch:
            for kind, counts in span_counts_by_type(true, predicted, match).items():
                sums.setdefault((kind, match), Counter()).update(
                    right=counts.correct, predicted=counts.predictions, found=counts.found, labelled=counts.annotations
                )
    print(f"\n{name}: {len(labelled)} texts")
    for kind in sorted({kind for kind, _ in sums}):
        parts = [f"{kind:14}"]
        for match in SpanMatch:
            n = sums[kind, match]
            parts.append(
                f"{match.value}: P {_share(n['right'], n['predicted'])} ({n['right']}/{n['predicted']}) "
                f"R {_share(n['found'], n['labelled'])} ({n['found']}/{n['labelled']})"
            )
        print("  ".join(parts))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "  -  "


def _speed(texts: Sequence[str]) -> None:
    """Seconds of CPU. What this project finds beyond presidio is taken away before the spans are compared."""
    settings = PiiSettings()
    wanted = sorted(kind for kind in settings.policy if settings.analyses(kind))
    loop = _presidio_loop(settings, wanted)
    find_all(texts[:8], settings, language="en")
    loop(texts[:8])
    ours, batched = _seconds(lambda: find_all(texts, settings, language="en"))
    theirs, alone = _seconds(lambda: loop(texts))
    differing = sum(_without_ours(text, one) != two for text, one, two in zip(texts, ours, theirs, strict=True))
    print(f"{len(texts)} paragraphs, {sum(map(len, texts))} characters")
    print(
        f"presidio, one paragraph after the other: {alone:.2f} s of CPU; here: {batched:.2f} s; {alone / batched:.1f}x"
    )
    print(f"paragraphs whose spans differ: {differing}")


def _without_ours(text: str, finds: Sequence[Find]) -> set[tuple[int, int, str]]:
    extra = {(s, e, "PHONE_NUMBER", score) for s, e, score in telephone_numbers(text)}
    extra |= {(s, e, "PERSON", score) for s, e, score in announced_names(text)}
    return {(f.start, f.end, f.type) for f in finds if (f.start, f.end, f.type, f.score) not in extra}


def _presidio_loop(
    settings: PiiSettings, wanted: list[str]
) -> Callable[[Sequence[str]], list[set[tuple[int, int, str]]]]:
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"])
    registry.remove_recognizer("PhoneRecognizer")
    registry.add_recognizer(PhoneRecognizer(supported_regions=settings.phone_regions))
    engine = NlpEngineProvider(
        nlp_configuration={
            "nlp_engine_name": "spacy",
            "models": [{"lang_code": "en", "model_name": ENGLISH_MODEL}],
        }
    ).create_engine()
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])

    def loop(texts: Sequence[str]) -> list[set[tuple[int, int, str]]]:
        return [
            {
                (r.start, r.end, r.entity_type)
                for r in analyzer.analyze(text, language="en", entities=wanted)
                if r.score >= settings.threshold(r.entity_type)
            }
            for text in texts
        ]

    return loop


def _seconds(call: Callable[[], list]) -> tuple[list, float]:  # type: ignore[type-arg]
    best, result = float("inf"), []
    for _ in range(3):
        started = time.process_time()
        result = call()
        best = min(best, time.process_time() - started)
    return result, best


if __name__ == "__main__":
    main()
