"""Files that cannot be read, and a text layer that says something else than the page shows."""

import re

from tasks.demo.authored import Source
from tasks.demo.labels import Rendered
from tasks.demo.reports import render_report

PASSWORD = "breakwater"  # noqa: S105 (a demo file that nobody is meant to open)


def corrupt(source: Source) -> Rendered:
    """A PDF whose transfer broke off inside its first page: no page tree, no cross-reference table."""
    whole = render_report(source)
    return Rendered(whole.data[:400], (), "")


def encrypted(source: Source) -> Rendered:
    """A PDF that opens only with a password."""
    return Rendered(render_report(source, password=PASSWORD).data, (), "")


def empty(_: Source) -> Rendered:
    """A file of zero bytes."""
    return Rendered(b"", (), "")


_FONT = re.compile(rb"(\d+) 0 obj\n<<\n(/BaseFont [^>]*?)\n>>\nendobj")


def break_text_layer(pdf: bytes) -> bytes:
    """The same pages with fonts whose ToUnicode map leads every letter into the Private Use Area.

    This is what an export with subset symbol fonts does: the pages look and print as before, and whoever copies
    or extracts text gets code points without a meaning; digits, blanks and punctuation survive. Written as an
    incremental update (ISO 32000-1, 7.5.6).

    Raises:
        ValueError: the PDF holds no uncompressed font object.
    """
    fonts = list(_FONT.finditer(pdf))
    size, root, start = (re.findall(pattern, pdf)[-1] for pattern in
                         (rb"/Size (\d+)", rb"/Root (\d+ 0 R)", rb"startxref\n(\d+)"))  # fmt: skip
    if not fonts:
        raise ValueError("the PDF holds no uncompressed font object")
    out = bytearray(pdf)
    cmap_number = int(size)
    offsets = {cmap_number: len(out)}
    cmap = _private_use_cmap()
    out += b"%d 0 obj\n<<\n/Length %d\n>>\nstream\n%b\nendstream\nendobj\n" % (cmap_number, len(cmap), cmap)
    for font in fonts:
        offsets[int(font[1])] = len(out)
        out += b"%b 0 obj\n<<\n%b\n/ToUnicode %d 0 R\n>>\nendobj\n" % (font[1], font[2], cmap_number)
    xref = len(out)
    out += b"xref\n"
    for number in sorted(offsets):
        out += b"%d 1\n%010d 00000 n \n" % (number, offsets[number])
    out += b"trailer\n<<\n/Size %d\n/Root %b\n/Prev %b\n>>\nstartxref\n%d\n%%%%EOF\n" % (
        cmap_number + 1, root, start, xref,
    )  # fmt: skip
    return bytes(out)


def _private_use_cmap() -> bytes:
    ranges = [(0x20, 0x40, 0x20), (0x41, 0x5A, 0xF041), (0x5B, 0x60, 0x5B), (0x61, 0x7A, 0xF061), (0x7B, 0x7E, 0x7B),
              (0xA0, 0xFF, 0xF0A0)]  # fmt: skip
    lines = "\n".join(f"<{first:02X}> <{last:02X}> <{to:04X}>" for first, last, to in ranges)
    return (
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /Export def\n/CMapType 2 def\n"
        "1 begincodespacerange\n<00> <FF>\nendcodespacerange\n"
        f"{len(ranges)} beginbfrange\n{lines}\nendbfrange\nendcmap\n"
        "CMapName currentdict /CMap defineresource pop\nend\nend"
    ).encode()
