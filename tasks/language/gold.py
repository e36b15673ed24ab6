"""The labelled language as a row of the stage."""

import pyarrow as pa

from schemas.stages import LANGUAGE
from tasks.documents.gold_elements import GOLD_PARSER
from tasks.gold.kinds import LanguageLabel
from tasks.gold.labels import Labels
from tasks.language.evaluator import base_code
from tasks.language.settings import LanguageSettings
from tasks.stage import Batch


def gold_rows(batch: Batch, labels: Labels, settings: LanguageSettings) -> pa.Table:
    """`LANGUAGE` rows of the documents whose language is labelled; of their sections no label speaks."""
    rows = []
    for document_id in batch.documents.column("document_id").to_pylist():
        label = labels.of(document_id, LanguageLabel, "language")
        if label is not None:
            language = base_code(label.language)
            rows.append({"document_id": document_id, "language": language, "confidence": 1.0, "model": GOLD_PARSER})
    return pa.Table.from_pylist(rows, schema=LANGUAGE)
