"""RTF: notes below what they belong to; hidden and deleted text left out, by the parser and by the second reader."""

import pytest

from tasks.documents.attribution import VERIFIED, Attribution, attribute
from tasks.documents.raw_text import read_raw
from tasks.documents.sniff import RTF
from tests.tasks.parse.stage_by_hand import parse

HEAD = rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset204 Times Cyr;}}\f0 "


def elements(tmp_path, body, end=rb"}"):
    path = tmp_path / "a.rtf"
    path.write_bytes(HEAD + body + end)
    rows, failures = parse(path)
    assert not failures
    return [(element["kind"], element["text"]) for element in rows["a.rtf"]["elements"]], read_raw(
        path.read_bytes(), RTF
    )


def test_notes_follow_their_paragraph_and_are_found_by_the_second_reader(tmp_path):
    body = (
        rb"The lease ends in May.{\super\chftn}{\footnote\pard\plain\f0{\super\chftn} Unless renewed in writing by the "
        rb"tenant, caf\'e9 included.} The rent is due on the first day.\par Next paragraph{\footnote\ftnalt\f1 "
        rb"\'d0\'e5\'ea\'e0 at the end}.\par"
    )
    found, raw = elements(tmp_path, body)
    assert found == [
        ("paragraph", "The lease ends in May. The rent is due on the first day."),
        ("footnote", "Unless renewed in writing by the tenant, café included."),
        ("paragraph", "Next paragraph."),
        ("footnote", "Река at the end"),
    ]
    assert {attribute(text, raw) for _, text in found} <= VERIFIED
    assert attribute(found[0][1], raw) is Attribution.EXACT


def test_notes_of_a_table_follow_it(tmp_path):
    row = rb"\trowd\cellx100\cellx200\intbl Rent{\footnote Without heating.}\cell 1250\cell\row"
    found, _ = elements(tmp_path, rb"Before it{\footnote First note.}.\par " + row + row + rb"\pard After it.\par")
    assert found == [
        ("paragraph", "Before it."),
        ("footnote", "First note."),
        ("table", "Rent\t1250\nRent\t1250"),
        ("footnote", "Without heating."),
        ("footnote", "Without heating."),
        ("paragraph", "After it."),
    ]


@pytest.mark.parametrize("word", [rb"\deleted", rb"\v"])
def test_what_is_hidden_or_deleted_is_left_out(word, tmp_path):
    gone = rb"this clause has gone \'e9\u1077?\emdash altogether{\footnote and its note}"
    body = (
        rb"It stays,{" + word + rb" " + gone + rb"} as it is.\par A" + word + rb" " + gone + word + rb"0 B{\b C" + word
    )
    found, raw = elements(tmp_path, body + rb" gone\plain D}\par{\revised Put in.}\par")
    assert found == [("paragraph", "It stays, as it is."), ("paragraph", "ABCD"), ("paragraph", "Put in.")]
    assert attribute("this clause has gone altogether", raw) is Attribution.FAILED
    assert attribute("It stays, as it is.", raw) in VERIFIED


def test_a_table_keeps_its_shape_without_its_deleted_words(tmp_path):
    row = rb"\trowd\cellx100\cellx200\intbl {\deleted Old\cell 17\cell}\row\trowd\intbl New\cell 18\cell\row"
    found, _ = elements(tmp_path, row)
    assert found == [("table", "\t\nNew\t18")]


def test_a_file_cut_off_in_a_note_keeps_what_there_is(tmp_path):
    found, _ = elements(tmp_path, rb"The lease ends.{\footnote Unless {\b renewed", end=b"")
    assert found == [("paragraph", "The lease ends."), ("footnote", "Unless renewed")]
