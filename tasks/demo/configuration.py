"""The configuration file that a demo folder gets."""

import json
from collections.abc import Iterable, Sequence
from string import Template
from typing import Any

from tasks.demo.authored import FOLDER

FIRST_LINE = "# Written by corpusgate demo"

CLASSES = {
    "policies": "policy",
    "partners": "policy",
    "reports": "report",
    "support": "support_note",
    "articles": "article",
    "bulletins": "bulletin",
    "contracts": "contract",
    "sheets": "sheet",
    "mail": "mail",
    "scans": "scan",
}
"""Document class by folder; what lies elsewhere stays unclassified."""

SCANS = "scans"
"""The folder of what is read by OCR."""

TENANT, PARTNER = "skerry", "islandlink"

EXPECTED_QUARANTINE = {
    "incoming/cut-off-transfer.pdf": ("parse", "corrupt"),
    "incoming/pier-lease.pdf": ("parse", "encrypted"),
    "incoming/empty-scan.pdf": ("fetch", "empty"),
}
"""Documents that nobody can read: the stage that finds out, and its error class."""


def configuration(prefixes: Sequence[str]) -> str:
    """The text of `corpusgate.yaml` for copies under these prefixes; [""] for the one corpus without a prefix."""
    many = prefixes != [""]
    anywhere = "copy-*/" if many else ""
    return Template((FOLDER / "configuration.txt").read_text(encoding="utf-8")).substitute(
        first_line=FIRST_LINE,
        classes=_entries({"class": name, "path": f"{anywhere}{folder}/**"} for folder, name in CLASSES.items()),
        access=_entries(rule for prefix in prefixes for rule in _access(prefix)),
        expected=_entries(
            (
                {"path": f"{anywhere}{path}", "stage": stage, "error_class": error, "reason": "planted"}
                for path, (stage, error) in EXPECTED_QUARANTINE.items()
            ),
            indent="    ",
        ),
    )


def _access(prefix: str) -> list[dict[str, Any]]:
    suffix = f"-{prefix.rstrip('/')}" if prefix else ""
    rules: list[dict[str, Any]] = [
        {"path": f"{prefix}partners/**", "tenant": f"{PARTNER}{suffix}", "groups": []},
        {"path": f"{prefix}reports/**", "tenant": f"{TENANT}{suffix}", "groups": ["management"]},
        {"path": f"{prefix}contracts/**", "tenant": f"{TENANT}{suffix}", "groups": ["management"]},
        {"path": f"{prefix}support/**", "tenant": f"{TENANT}{suffix}", "groups": ["support"]},
        {"path": f"{prefix}mail/**", "tenant": f"{TENANT}{suffix}", "groups": ["support"]},
    ]
    return [*rules, {"path": f"{prefix}**", "tenant": f"{TENANT}{suffix}", "groups": []}]


def _entries(rules: Iterable[dict[str, Any]], indent: str = "  ") -> str:
    """YAML flow mappings, one a line (JSON is YAML)."""
    return "\n".join(f"{indent}- {json.dumps(rule)}" for rule in rules)
