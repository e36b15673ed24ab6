"""The policy applied to the labelled values instead of those that were found."""

import pyarrow as pa

from schemas.stages import PII
from tasks.gold.kinds import PiiLabel
from tasks.gold.labels import Labels
from tasks.pii.detection import Find
from tasks.pii.document import Document, read, redacted, repeat
from tasks.pii.labels import labelled_values
from tasks.pii.redaction import Redactor, resolve
from tasks.pii.settings import PiiSettings
from tasks.pii.visible import Visible
from tasks.stage import Batch


def gold_rows(batch: Batch, labels: Labels, settings: PiiSettings) -> pa.Table:
    """`PII` rows of the documents whose personal data are labelled.

    Title, authors and path lose the labelled values that stand in them too; names of authors go by the policy as ever.
    """
    redactor = Redactor(settings)
    rows = []
    for row, stages in batch.rows():
        label = labels.of(row["document_id"], PiiLabel, "pii")
        if label is None:
            continue
        document = read(row, stages, settings)
        _find_labelled(document, label, settings)
        repeat(document, settings, fields_only=True)
        rows.append(redacted(document, settings, redactor))
    return pa.Table.from_pylist(rows, schema=PII)


def _find_labelled(document: Document, label: PiiLabel, settings: PiiSettings) -> None:
    """A value that reaches over the end of an element is parted there: redaction works by element."""
    spans = [value.span for value in labelled_values(label, document.text) if value.span is not None]
    for passage in document.elements:
        # Labels speak of the text as it is, hidden characters included.
        start = passage.offset
        end = start + passage.seen.source(0, len(passage.seen.text))[1] if passage.seen.text else start
        text = document.text[start:end]
        passage.seen = Visible(text, None)
        finds = [
            Find(max(span.start, start) - start, min(span.end, end) - start, span.type, 1.0)
            for span in spans
            if span.start < end and start < span.end and settings.analyses(span.type)
        ]
        passage.finds = resolve(text, finds, settings)
