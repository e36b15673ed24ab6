"""A message is one document of several parts: its text, and each attachment read as what it is."""

import pytest

from tasks.documents.archives import ContainerLimits
from tasks.documents.attribution import VERIFIED, Attribution, attribute
from tasks.documents.raw_text import read_raw
from tasks.documents.sniff import EMAIL
from tasks.parse.settings import ParseSettings
from tests.tasks.parse.messages import attach, full_message, message
from tests.tasks.parse.stage_by_hand import SETTINGS, parse, text_of

SUBJECT = "Pläne für die Pumpe"


@pytest.fixture(scope="module")
def mailbox(tmp_path_factory):
    return full_message(tmp_path_factory.mktemp("mail"))


@pytest.fixture(scope="module")
def mail(mailbox):
    rows, failures = parse(mailbox)
    assert failures == {}
    return rows["full.eml"]


def test_headers_say_what_a_message_is(mail):
    assert (mail["meta_title"], mail["meta_authors"]) == (SUBJECT, ["Ann Sämple"])
    assert mail["meta_published"] == "2024-05-01T08:30:00+00:00"
    assert (mail["elements"][0]["kind"], mail["elements"][0]["text"]) == ("heading", SUBJECT)
    assert mail["elements"][1]["text"].startswith("From: Ann Sämple <ann@example.org>\nTo: bo@example.org\n")


def test_of_alternatives_the_html_is_read_and_once(mail):
    own = [(e["kind"], e["text"]) for e in mail["elements"] if e["part"] is None][2:]
    assert own == [("heading", "News"), ("paragraph", "The HTML words of the mail.")]


def test_each_attachment_is_a_part_with_pages_of_its_own(mail):
    assert [(p["name"], p["first_page"], p["pages"], p["error_class"]) for p in mail["parts"]] == [
        ("pump.pdf", 2, 2, None),
        ("Größe.xlsx", 4, 3, None),
        ("Größe.xlsx / Plan 2024", 4, 1, None),
        ("Größe.xlsx / Later", 5, 1, None),
        ("broken.pdf", 7, 1, "corrupt"),
        ("Minutes of Monday", 8, 1, None),
        ("Minutes of Monday / list.csv", 9, 1, None),
        ("pump.pdf (2)", 10, 2, None),
    ]
    assert mail["pages"] == 11
    last = mail["elements"][-1]
    assert (last["part"], last["page"], last["section_path"]) == ("pump.pdf (2)", 11, [SUBJECT, "pump.pdf (2)"])
    table = next(e for e in mail["elements"] if e["part"] == "Minutes of Monday / list.csv" and e["kind"] == "table")
    assert (table["text"], table["section_path"]) == (
        "Valve\tPrice\nBall\t17",
        [SUBJECT, "Minutes of Monday", "list.csv"],
    )


def test_an_attachment_that_cannot_be_read_is_a_page_without_output_and_not_a_lost_message(mail):
    assert mail["pages_without_output"] == [7]
    assert mail["pages_hidden"] == [6]  # the hidden sheet of the workbook


def test_every_element_is_found_in_its_part_and_page_by_the_second_reader(mail, mailbox):
    raw = read_raw(mailbox.read_bytes(), EMAIL)
    begins = {part["name"]: part["first_page"] for part in mail["parts"]}
    for element in mail["elements"]:
        page = element["page"]
        if element["part"] is not None:
            page = raw.pages_in(element["part"], *[page - begins[element["part"]] + 1] * 2)[0]
        found = attribute(element["text"], raw, page_first=page, page_last=page, headings=element["section_path"])
        assert found in VERIFIED, element
    elsewhere = raw.pages_in("Minutes of Monday", 1, 1)
    wrong = attribute("The second page lists the valves.", raw, page_first=elsewhere[0], page_last=elsewhere[1])
    assert wrong is Attribution.FAILED
    assert raw.pages_in("no such part", 1, 1) == (0, 0)


def test_messages_deeper_than_usual_are_read_again_as_deep_as_they_were_parsed(tmp_path):
    nested = message("message 0", "The words of message 0.")
    for number in range(1, 14):
        outer = message(f"message {number}", f"The words of message {number}.")
        outer.add_attachment(nested)
        nested = outer
    data = nested.as_bytes()
    deepest = " / ".join(f"message {number}" for number in range(12, -1, -1))
    assert deepest in read_raw(data, EMAIL, containers=ContainerLimits(max_depth=13)).parts
    assert deepest not in read_raw(data, EMAIL).parts


def test_attachments_are_followed_as_deep_and_as_many_as_allowed(tmp_path):
    innermost = message("third", "The third message.")
    second = message("second", "The second message.")
    second.add_attachment(innermost)
    first = message("first", "The first message.")
    first.add_attachment(second)
    for i in range(3):
        attach(first, f"{i}.txt", f"Attachment number {i}".encode())
    (tmp_path / "deep.eml").write_bytes(first.as_bytes())
    limits = ContainerLimits(max_depth=1, max_attachments=4)
    rows, _ = parse(tmp_path / "deep.eml", settings=ParseSettings(containers=limits, limits=SETTINGS.limits))
    row = rows["deep.eml"]
    assert [(part["name"], part["error_class"]) for part in row["parts"]] == [
        ("second", None), ("second / third", "attachment_limit"), ("0.txt", None), ("1.txt", None),
        ("2.txt", "attachment_limit"),
    ]  # fmt: skip
    assert "The second message." in text_of(row)
    assert "The third message." not in text_of(row)
    assert row["pages_without_output"] == [3, 6]


def test_malformed_messages_are_read_as_far_as_they_go(tmp_path):
    (tmp_path / "headers.eml").write_bytes(
        b"From: =?utf-8?q?Ann?= <<broken@@example..org\r\nSubject: =?x-none?b?!!!?= plan\r\nDate: yesterday\r\n"
        b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; "
        b"charset=x-unknown\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVsbG8gd29ybGQ\r\n"
    )
    rows, failures = parse(tmp_path / "headers.eml")
    assert failures == {}
    assert "Hello world" in text_of(rows["headers.eml"])
    assert rows["headers.eml"]["meta_published"] is None


def test_a_page_saved_with_its_images_is_the_page(tmp_path):
    page = message("A saved page", "ignored")
    page.set_content("<html><body><h1>A saved page</h1><p>Its words.</p></body></html>", subtype="html")
    page.make_related()
    page.add_related(b"p { color: red }", "text", "css", cid="<style>")
    (tmp_path / "page.mhtml").write_bytes(page.as_bytes())
    rows, _ = parse(tmp_path / "page.mhtml")
    assert rows["page.mhtml"]["parts"] is None
    assert rows["page.mhtml"]["elements"][-1]["text"] == "Its words."


@pytest.mark.parametrize(
    ("kind", "name", "charset", "text"),
    [
        ("text/plain", "ru.txt", "koi8-r", "Привет мир, это приложение"),
        ("text/plain", "pl.txt", "iso-8859-2", "Zażółć gęślą jaźń, szanowni państwo"),
        ("text/html", "de.html", "cp850", "Größe der Ätna"),
        ("text/markdown", "cz.md", "iso-8859-2", "Žluťoučký kůň"),
        ("text/csv", "jp.csv", "shift_jis", "名前"),
        ("text/plain", "wrong.txt", "us-ascii", "Größe in UTF-8, was auch immer erklärt ist"),
    ],
)
def test_an_attachment_is_decoded_as_it_declares(kind, name, charset, text, tmp_path):
    """And the second reader finds it there: as the parser, by the declared encoding."""
    data = text.encode("utf-8" if charset == "us-ascii" else charset)
    if kind == "text/html":
        data = b"<html><body><p>" + data + b"</p></body></html>"
    elif kind == "text/csv":
        data += b",1\r\n2,3\r\n"
    mail = message("Encodings", "see attached")
    attach(mail, name, data, kind, params={"charset": charset})
    (tmp_path / "cs.eml").write_bytes(mail.as_bytes())
    rows, _ = parse(tmp_path / "cs.eml")
    found = next(e["text"] for e in rows["cs.eml"]["elements"] if e["part"] == name and e["kind"] != "heading")
    assert found.replace("\t", "\n").split("\n")[0] == text
    raw = read_raw((tmp_path / "cs.eml").read_bytes(), EMAIL)
    assert text in raw.pages[1]
