"""E-mails: a text of lines broken by hand and one attachment, a table as CSV or a Word file.

The body begins with `:: from NAME <ADDRESS>` and `:: to NAME <ADDRESS>`; what follows `:: attach NAME` is the
attachment. The reference text is what a mail program shows: subject, people and date, the text, the attachment's name
and what it holds.
"""

import csv
import hashlib
import io
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from tasks.demo.authored import Source
from tasks.demo.blocks import Block, plain, read_blocks
from tasks.demo.contracts import word_file
from tasks.demo.labels import Placed, Rendered, visible

_DOCX = "vnd.openxmlformats-officedocument.wordprocessingml.document"


def render_message(source: Source) -> Rendered:
    """A message of RFC 5322 with one attachment. It is page 1, the attachment page 2."""
    blocks = read_blocks(source.body)
    directives = [(i, block.source.split(" ", 1)[1]) for i, block in enumerate(blocks) if block.kind == "directive"]
    (_, sender), (_, recipient), (place, name) = directives
    text, attached = blocks[2:place], blocks[place + 1 :]
    sent = datetime.fromisoformat(source.committed)
    people = f"From: {sender} To: {recipient} Date: {format_datetime(sent)}"
    below = 2  # an attachment's name is a heading below the subject
    placed = [
        Placed(Block("heading", source.title, 1), page=1),
        Placed(Block("paragraph", people), page=1),
        *(Placed(block, page=1) for block in text),
        Placed(Block("heading", name, below), page=2),
        *(Placed(_deeper(block, below), page=2) for block in attached),
    ]

    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = plain(sender), plain(recipient), source.title
    message["Date"] = sent
    digest = hashlib.sha256(source.path.encode()).hexdigest()
    message["Message-ID"] = f"<{digest[:16]}@mail.example.org>"
    message.set_content("\n\n".join(_lines(block) for block in text) + "\n")
    if name.endswith(".csv"):
        message.add_attachment(_csv(attached).encode(), maintype="text", subtype="csv", filename=name)
    else:
        data = word_file(replace(source, title=name, file_title=None), attached)
        message.add_attachment(data, maintype="application", subtype=_DOCX, filename=name)
    message.set_boundary(f"=={digest[16:40]}==")
    return Rendered(bytes(message), tuple(placed), "\n".join(visible(p.block.text) for p in placed))


def _deeper(block: Block, below: int) -> Block:
    return replace(block, level=(block.level or 1) + below) if block.kind == "heading" else block


def _lines(block: Block) -> str:
    bullet = "- " if block.kind == "list_item" else ""
    return textwrap.fill(
        bullet + block.text, 72, subsequent_indent=" " * len(bullet), break_on_hyphens=False, break_long_words=False
    )


def _csv(blocks: Sequence[Block]) -> str:
    out = io.StringIO()
    for block in blocks:
        csv.writer(out).writerows([visible(cell.text) for cell in row] for row in block.rows)
    return out.getvalue()
