"""Running headers, footers and page numbers of paged documents."""

from itertools import chain
from typing import Any

from tasks.boilerplate.running import running_reasons
from tasks.boilerplate.settings import BoilerplateSettings

SETTINGS = BoilerplateSettings()


def element(page: int, y: float, text: str, kind: str = "paragraph") -> dict[str, Any]:
    return {"page": page, "bbox": [72.0, y - 6, 500.0, y + 6], "text": text, "kind": kind}


def body(page: int, y: float = 400) -> dict[str, Any]:
    return element(page, y, f"What is told on page {'abcdefghij'[page % 10] * page} is its own matter.")


def reasons(elements: list[dict[str, Any]]) -> list[str]:
    return running_reasons(elements, SETTINGS)


def test_header_footer_and_page_number_go_and_the_body_stays() -> None:
    pages = [
        [
            element(p, 40, "Annual report 2024"),
            body(p),
            element(p, 760, "Mill Ltd, confidential"),
            element(p, 790, f"Page {p} of 5"),
        ]
        for p in range(1, 6)
    ]
    assert reasons(list(chain(*pages))) == ["running_header", "", "running_footer", "page_number"] * 5


def test_alternating_headers_and_roman_numbers_are_found() -> None:
    roman = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii"]
    pages = [
        [element(p, 40, "Left title" if p % 2 else "Right title"), body(p), element(p, 790, roman[p - 1])]
        for p in range(1, 9)
    ]
    assert reasons(list(chain(*pages))) == ["running_header", "", "page_number"] * 8


def test_a_chapter_header_is_found_within_a_long_document() -> None:
    elements = [body(p) for p in range(1, 101)] + [element(100, 790, "end of the book")]
    chapter = [element(p, 40, "Chapter on gates") for p in range(20, 26)]
    assert reasons(elements + chapter) == [""] * 101 + ["running_header"] * 6


def test_a_line_in_the_body_or_at_changing_heights_stays() -> None:
    in_body = [element(p, 400, "See the table.") for p in range(1, 6)] + [
        element(p, 790, f"x{'y' * p}") for p in (1, 2)
    ]
    assert reasons(in_body) == [""] * 7
    wandering = [element(p, 30 + 17 * p, "Note") for p in range(1, 5)] + [body(p, 790) for p in range(1, 5)]
    assert reasons(wandering) == [""] * 8


def test_numbered_headings_at_the_top_of_pages_stay() -> None:
    elements = [e for p in (2, 4, 5, 7) for e in (element(p, 40, f"Example {p // 2}", "heading"), body(p, 790))]
    assert reasons(elements) == [""] * 8


def test_two_pages_lose_only_outermost_lines_that_are_the_same() -> None:
    elements = [
        *[element(1, 40, "Letter of the mill"), element(1, 60, "Dear reader"), body(1), element(1, 790, "1")],
        *[element(2, 40, "Letter of the mill"), element(2, 60, "Dear reader"), body(2), element(2, 790, "2")],
    ]
    assert reasons(elements) == ["running_header", "", "", "page_number"] * 2


def test_tables_never_go_and_a_page_never_loses_everything() -> None:
    tables = [element(p, 40, "Gate\tWidth", "table") for p in range(1, 5)] + [body(p, 790) for p in range(1, 5)]
    assert reasons(tables) == [""] * 8
    bare = [element(p, 40, "Form 12") for p in range(1, 5)] + [body(1, 790)]
    assert reasons(bare) == ["running_header", "", "", "", ""]
