"""Assertions about pages, worked out by hand from the rules of olmOCR-Bench."""

import pytest

from tasks.metrics.page_assertions import Neighbours, has_cell, holds_text, in_order, is_sane

PAGE = "The  harbour\nboard – “minutes”. The crane was oiled on Monday. The crane was painted."
SPANS = """<table>
<tr><th rowspan="2">berth</th><th colspan="2">tonnes</th></tr>
<tr><td>in</td><td>out</td></tr>
<tr><td>North pier</td><td>1,204</td><td>980</td></tr>
<tr><td>South pier</td><td></td><td>75</td></tr>
</table>"""


@pytest.mark.parametrize(
    ("wanted", "options", "held"),
    [
        ("harbour board", {}, True),  # white space is one space
        ('board - "minutes"', {}, True),  # one kind of dashes and quotes
        ("Crane was oiled", {}, False),
        ("Crane was oiled", {"case_sensitive": False}, True),
        # One letter of 15 is wrong: 14 of 15 agree, and 1 - 1/15 is asked for.
        ("crane was oi1ed", {}, False),
        ("crane was oi1ed", {"most_differences": 1}, True),
        ("The harbour", {"first": 12}, True),
        ("painted", {"first": 12}, False),
        ("painted", {"last": 9}, True),
        ("harbour", {"last": 9}, False),
        ("", {}, False),
    ],
)
def test_a_passage_is_there_or_not(wanted, options, held):
    assert holds_text(PAGE, wanted, **options) is held


def test_a_page_shorter_than_the_passage_does_not_hold_it():
    assert not holds_text(" ", "a long passage of many words")
    assert not holds_text("many", "many words")


@pytest.mark.parametrize(
    ("before", "after", "most_differences", "held"),
    [
        ("oiled", "painted", 0, True),
        ("painted", "oiled", 0, False),
        # It stands twice: one of its places comes first, another comes last.
        ("The crane", "oiled", 0, True),
        ("oiled", "The crane", 0, True),
        ("oi1ed", "painted", 0, False),
        ("oi1ed", "painted", 1, True),
        ("oiled", "oiled", 0, False),
        ("derrick", "painted", 0, False),
    ],
)
def test_one_passage_comes_before_another(before, after, most_differences, held):
    assert in_order(PAGE, before, after, most_differences=most_differences) is held


@pytest.mark.parametrize(
    ("cell", "expected", "held"),
    [
        ("980", {}, True),
        ("980", {"left": "1,204", "up": "out", "down": "75"}, True),
        ("980", {"left": "North pier"}, False),
        ("980", {"left_heading": "North pier", "top_heading": "tonnes"}, True),
        ("75", {"left_heading": "South pier"}, True),
        ("1,204", {"right": "980"}, True),
        ("tonnes", {"down": "in"}, True),
        ("tonnes", {"down": "out"}, True),  # a cell over two columns has two cells below
        ("North pier", {"up": "berth"}, True),  # one over two rows ends above the third
        ("981", {}, False),
        ("990", {"right": "980"}, False),
    ],
)
def test_a_cell_has_its_neighbours(cell, expected, held):
    assert has_cell(["<table><tr><td>x</td></tr></table>", SPANS], Neighbours(cell, expected)) is held


def test_differences_are_allowed_in_cells_too():
    # 1,204 and 1.204 share four of five characters: the ratio is 8/10, and 1 - 1/5 is asked for.
    assert has_cell([SPANS], Neighbours("1.204"), most_differences=1)
    assert not has_cell([SPANS], Neighbours("1.204"))


def test_no_table_holds_no_cell():
    assert not has_cell([], Neighbours("980"))


@pytest.mark.parametrize(
    ("page", "sane"),
    [
        ("One word", True),
        ("7", True),
        ("…", False),
        ("", False),
        ("begin " + "over and over " * 31, False),
        ("begin " + "over and over " * 30, True),
        ("no " * 31, False),
        ("no " * 40 + "but then it goes on", True),
    ],
)
def test_a_page_that_a_model_lost_its_way_on_is_not_sane(page, sane):
    assert is_sane(page) is sane


def test_a_blank_page_may_hold_a_few_characters():
    assert is_sane("", most_characters=10)
    assert is_sane(" 12 ", most_characters=2)
    assert not is_sane("A whole line", most_characters=10)
