"""The ICDAR 2013 table competition's data: PDFs with `<name>-reg.xml` (table regions) and `<name>-str.xml` (cells).

A table that goes on over several regions becomes a label for each, as
parsers report tables by page. Boxes in the files have their origin at the bottom left of the page; labels have it at
the top left, by the page's height in the PDF.
"""

from html import escape
from pathlib import Path
from typing import Any

from lxml import etree

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument


def read(folder: Path) -> DataSet:
    """The PDFs with tables labels: page, box in points from the top left, HTML with spans.

    Grid cells that no label covers become empty cells. A document without its PDF is left out.
    """
    documents: list[MadeDocument] = []
    bad: list[BadRow] = []
    skipped: list[str] = []
    for structure in sorted(folder.rglob("*-str.xml")):
        stem = structure.name.removesuffix("-str.xml")
        pdf, regions = structure.with_name(f"{stem}.pdf"), structure.with_name(f"{stem}-reg.xml")
        if not pdf.is_file() or not regions.is_file():
            skipped.append(f"{structure.name}: its PDF or its -reg.xml is missing")
            continue
        try:
            tables = _tables(structure, regions, _page_heights(pdf))
        except etree.XMLSyntaxError as error:
            name = regions.name if str(error.filename or "").endswith(regions.name) else structure.name
            bad.append(BadRow(name, error.lineno, "is no XML"))
        except (ValueError, LookupError):
            bad.append(BadRow(structure.name, None, "its tables are none, or not those of its PDF and -reg.xml"))
        else:
            path = pdf.relative_to(folder).as_posix()
            documents.append(MadeDocument(path, pdf, {"tables": {"tables": tables}}))
    return DataSet(tuple(documents), tuple(bad), tuple(skipped))


def _page_heights(pdf: Path) -> list[float]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(pdf)
    except pypdfium2.PdfiumError as error:
        raise ValueError("the PDF cannot be opened") from error
    try:
        return [document.get_page_size(number)[1] for number in range(len(document))]
    finally:
        document.close()


def _tables(structure: Path, regions: Path, heights: list[float]) -> list[dict[str, Any]]:
    boxes = {
        (table.get("id"), number): _box(region.find("bounding-box"))
        for table in _root(regions).iterfind("table")
        for number, region in enumerate(table.iterfind("region"))
    }
    labels = []
    for table in _root(structure).iterfind("table"):
        for number, region in enumerate(table.iterfind("region")):
            page = int(region.attrib["page"])
            left, bottom, right, top = boxes[table.get("id"), number]
            height = heights[page - 1]
            labels.append({"page": page, "bbox": [left, height - top, right, height - bottom], "html": _html(region)})
    # Reading order: by page, then from the top.
    return sorted(labels, key=lambda label: (label["page"], label["bbox"][1], label["bbox"][0]))


def _root(path: Path) -> Any:
    return etree.parse(path, etree.XMLParser(resolve_entities=False, no_network=True)).getroot()


def _box(element: Any) -> tuple[float, float, float, float]:
    if element is None:
        raise ValueError("a region has no bounding box")
    x1, y1, x2, y2 = (float(element.attrib[name]) for name in ("x1", "y1", "x2", "y2"))
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _html(region: Any) -> str:
    """The cells as rows, spans kept; the first row and column that have a cell count as 0."""
    cells = []
    for cell in region.iterfind("cell"):
        row, column = int(cell.attrib["start-row"]), int(cell.attrib["start-col"])
        last_row, last_column = int(cell.get("end-row", row)), int(cell.get("end-col", column))
        cells.append((row, column, last_row, last_column, " ".join((cell.findtext("content") or "").split())))
    if not cells:
        raise ValueError("a region has no cell")
    rows = range(min(cell[0] for cell in cells), max(cell[2] for cell in cells) + 1)
    columns = range(min(cell[1] for cell in cells), max(cell[3] for cell in cells) + 1)
    covered = {
        (row, column)
        for first_row, first_column, last_row, last_column, _ in cells
        for row in range(first_row, last_row + 1)
        for column in range(first_column, last_column + 1)
    }
    starts = {(cell[0], cell[1]): cell for cell in cells}
    lines = []
    for row in rows:
        line = []
        for column in columns:
            if (row, column) in starts:
                _, _, last_row, last_column, text = starts[row, column]
                line.append(_cell(last_row - row + 1, last_column - column + 1, text))
            elif (row, column) not in covered:
                line.append("<td></td>")
        lines.append(f"<tr>{''.join(line)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _cell(rowspan: int, colspan: int, text: str) -> str:
    spans = (f' rowspan="{rowspan}"' if rowspan > 1 else "") + (f' colspan="{colspan}"' if colspan > 1 else "")
    return f"<td{spans}>{escape(text, quote=False)}</td>"
