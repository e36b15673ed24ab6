"""PDFs that are published with their tables as CSV, or with the text that they were made of.

python -m tests.benchmarks.published_pdfs DATA

DATA holds tables/tabula-csv, ocr/pypdf-sample-files and ocr/pypdf-text-pairs.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from tasks.documents.cage import CageLimits
from tasks.metrics.table_match import adjacency, content_similarity
from tasks.metrics.table_tree import teds
from tasks.metrics.text_distance import comparison_text, edit_counts
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.stage_by_hand import parse, text_of

SETTINGS = ParseSettings(limits=CageLimits(seconds_per_document=400, seconds_per_page=100))


def main() -> None:
    """Prints a line for each file."""
    data = Path(sys.argv[1])
    tables = sorted((data / "tables" / "tabula-csv" / "csv").glob("*.csv"))
    pairs = [(pdf, table) for table in tables if (pdf := table.parents[1] / f"{table.stem}.pdf").is_file()]
    rows, failures = parse(*(pdf for pdf, _ in pairs), settings=SETTINGS)
    for pdf, table in pairs:
        _report_table(pdf.name, table_of_csv(table), rows.get(pdf.name), failures)
    for path, expected in references(data / "ocr"):
        found = text_of(parse(path, settings=SETTINGS)[0][path.name])
        counts = edit_counts(comparison_text(expected), comparison_text(found))
        wrong = f"{counts.distance:4} of {counts.length:5} characters"
        print(f"{path.name:70} {wrong}  CER {counts.distance / counts.length:.4f}")


def table_of_csv(path: Path) -> str:
    """The table of a CSV file as HTML, without lines that are empty in all columns and the other way round."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if any(cell.strip() for cell in line)]
    width = max(map(len, lines))
    lines = [line + [""] * (width - len(line)) for line in lines]
    kept = [column for column in range(width) if any(line[column].strip() for line in lines)]
    rows = ("".join(f"<td>{escape(line[column])}</td>" for column in kept) for line in lines)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def references(folder: Path) -> Iterator[tuple[Path, str]]:
    """PDFs and the text that each was made of: plain text, LaTeX without commands, a word processor's file."""
    pairs, samples = folder / "pypdf-text-pairs", folder / "pypdf-sample-files"
    yield pairs / "crazyones.pdf", (pairs / "crazyones.txt").read_text(encoding="utf-8")
    for name in ("001-trivial/minimal-document", "003-pdflatex-image/pdflatex-image"):
        yield samples / f"{name}.pdf", text_of_latex((samples / f"{name}.tex").read_text(encoding="utf-8"))
    written = samples / "002-trivial-libre-office-writer"
    source = written / "source.odt"
    yield written / f"{written.name}.pdf", text_of(parse(source, settings=SETTINGS)[0][source.name])


def text_of_latex(source: str) -> str:
    """The words between `document`'s begin and end; a chapter has its number before it, other commands are left out."""
    body = source.partition(r"\begin{document}")[2].partition(r"\end{document}")[0]
    body = re.sub(r"\\chapter\{(.*?)\}", r"1 \1", body)
    return re.sub(r"\\\w+(?:\[.*?\]|\{.*?\})*", "", body)


def _report_table(name: str, truth: str, row: Mapping[str, Any] | None, failures: Mapping[str, Any]) -> None:
    if row is None:
        print(f"{name:70} {failures[name].error_class}")
        return
    tables = [element["html"] for element in row["elements"] if element["kind"] == "table"]
    best = max(tables, key=lambda html: content_similarity(truth, html), default="")
    counts = adjacency(truth, best).counts
    f1 = 2 * counts.matched / (counts.predicted + counts.labelled)
    print(f"{name:70} {len(tables):2} tables found  TEDS {teds(truth, best):.3f}  cell adjacency F1 {f1:.3f}")


if __name__ == "__main__":
    main()
