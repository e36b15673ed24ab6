"""A message with everything that a mailbox holds, made by the standard library."""

from datetime import UTC, datetime
from email.message import EmailMessage

from fpdf import FPDF

from tests.tasks.parse.office_files import plan_xlsx

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)


def two_page_pdf(path):
    document = FPDF()
    document.set_font("helvetica", size=11)
    for text in ("The pump house stands by the river.", "The second page lists the valves."):
        document.add_page()
        document.cell(text=text)
    document.output(path)
    return path


def message(subject, text, sender="Ann Sämple <ann@example.org>"):
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, "bo@example.org", subject
    made["Date"] = datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    made.set_content(text)
    return made


def attach(to, name, data, kind="application/octet-stream", **more):
    main, _, sub = kind.partition("/")
    to.add_attachment(data, maintype=main, subtype=sub, filename=name, **more)


def full_message(folder):
    """Alternatives, an image in the text, two files of one name, a workbook, a broken PDF, a message in it."""
    mail = message("Pläne für die Pumpe", "Plain words of the mail.\n\n> quoted")
    mail.add_alternative(
        "<html><body><h2>News</h2><p>The HTML words of the mail.</p><img src='cid:logo'></body></html>", subtype="html"
    )
    mail.get_payload()[1].add_related(PIXEL, "image", "png", cid="<logo>")
    attach(mail, "pump.pdf", two_page_pdf(folder / "pump.pdf").read_bytes(), "application/pdf")
    attach(mail, "Größe.xlsx", plan_xlsx(folder / "plan.xlsx").read_bytes())
    attach(mail, "broken.pdf", b"%PDF-1.4\nnothing more", "application/pdf")
    inner = message("Minutes of Monday", "It was decided to buy two valves.", "Bo Mock <bo@example.org>")
    attach(inner, "list.csv", b"Valve,Price\nBall,17\n", "text/csv")
    mail.add_attachment(inner)
    attach(mail, "pump.pdf", two_page_pdf(folder / "pump.pdf").read_bytes(), "application/pdf")
    path = folder / "full.eml"
    path.write_bytes(mail.as_bytes())
    return path
