"""A corpus full of personal data in texts, titles, paths, attachments and labels; documents of every fate."""

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from tasks.gold.writing import seal_gold_set

NAME, MAIL, IBAN = "Margaret Thornbury", "m.thornbury@harbour-office.org", "GB29NWBK60161331926819"
PLANTED = tuple(value.lower() for value in (NAME, MAIL, IBAN, "Thornbury", "60161331926819"))

LETTER = (
    f"# Letter of {NAME}\n\nDear Sirs,\n\nmy name is {NAME} and I write about the berth. "
    f"Please answer to {MAIL}. The refund goes to the account {IBAN}, as agreed in March.\n"
)
MINUTES = (
    f"# Minutes\n\nThe harbour board met on Monday. {NAME} opened the meeting and thanked the pilots.\n\n"
    "The board decided to dredge the north basin before winter and to paint the two signal masts.\n"
)
TIDES = "# Tides\n\nHigh water comes twice a day, and the keeper of the gate writes the hour into his book.\n"
MESSAGE = f"""From: {NAME} <{MAIL}>
To: office@harbour-office.org
Subject: Berth of {NAME}
Date: Mon, 2 Mar 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: text/plain

Hello, this is {NAME}. The berth is too small for the new boat, as I wrote before.
--cut
Content-Type: text/plain
Content-Disposition: attachment; filename="{MAIL}.txt"

The boat is nine metres long, and {NAME} owns it.
--cut--
"""
NAMED_AFTER = f"letters/{MAIL}.md"
COPY, BROKEN = "copies/margaret-thornbury.md", "broken/margaret-thornbury.docx"
TEXTS = {
    NAMED_AFTER: LETTER,
    "minutes.md": MINUTES,
    COPY: MINUTES,
    "tides.md": TIDES,
    "mail/berth.eml": MESSAGE,
    BROKEN: f"PK\x03\x04 no package of {NAME}",
}


def write_corpus(folder: Path, *, redact_only: bool, asked: bool = False, **keys: Any) -> Path:
    """Writes the corpus with its labels (questions where it is to be `asked`); returns the configuration."""
    for path, text in TEXTS.items():
        write(folder, path, text)
    labels: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "text": [("tides.md", {"text": TIDES}), (NAMED_AFTER, {"text": LETTER})],
        "questions": [
            ("minutes.md", {"questions": [{"question_id": "q-1", "question": f"What did {NAME} open?",
                                           "evidence": [{"exact": f"{NAME} opened the meeting"}]}]}),
            (COPY, {"questions": [{"question_id": "q-2", "question": "What is dredged?",
                                   "evidence": [{"exact": "to dredge the north basin before winter"}]}]}),
        ],
    }  # fmt: skip
    if not asked:
        del labels["questions"]
    gold = folder / "gold"
    gold.mkdir(exist_ok=True)
    for kind, of_kind in labels.items():
        rows = [
            {
                "document": f"desk:{path}",
                "content_sha": hashlib.sha256(TEXTS[path].encode()).hexdigest(),
                "label": label,
            }
            for path, label in of_kind
        ]
        (gold / f"{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    seal_gold_set(gold, "desk", "1")
    settings: dict[str, Any] = {
        "lake": "lake",
        "sources": [{"name": "desk", "type": "files", "root": "in"}],
        "gold": ["gold"],
        "run": {"redact_only": redact_only},
        # Who wrote a message is kept by default, as attribution.
        "gate": {"expected_quarantine": [{"path": "broken/**", "stage": "parse"}]},
        "stages": {"pii": {"authors": "mask"}},
    }
    configuration = folder / "corpusgate.yaml"
    configuration.write_text(yaml.safe_dump(settings | keys), encoding="utf-8")
    return configuration


def write(folder: Path, path: str, text: str) -> None:
    """Writes a document of the corpus."""
    file = folder / "in" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
