"""Scanned pages: drawn with the typeface that Pillow brings, a little tilted, grey and noisy, the same every time.

A code block is a receipt's part: two blanks or more put what follows to the right edge. `::page` begins a page, which
only a PDF can hold; the PDF consists of nothing but the images of its pages.
"""

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tasks.demo.authored import Source
from tasks.demo.blocks import Block, read_blocks
from tasks.demo.labels import Placed, Rendered, visible

DPI = 150
LETTER, RECEIPT = (1240, 1000), (720, 900)
"""Pixels of a page: the upper part of an A4 sheet, and a till roll 12 cm wide."""
MARGIN = 90
_PAPER, _INK, _GRAIN, _SPECKS = 243, 35, 9.0, 220


def render_scan(source: Source) -> Rendered:
    """An image (`.png`, `.jpg`) or a PDF of images; the layout `receipt` is narrow."""
    pages: list[list[Block]] = [[]]
    for block in [Block("heading", source.title, 1), *read_blocks(source.body)]:
        if block.kind == "directive":
            pages.append([])
        else:
            pages[-1].append(block)
    images = [_drawn(source, number, blocks) for number, blocks in enumerate(pages, 1)]
    placed = tuple(Placed(block, page=number) for number, blocks in enumerate(pages, 1) for block in blocks)
    text = "\n".join(re.sub(r"[^\S\n]+", " ", visible(p.block.text)) for p in placed)
    return Rendered(_file(source, images), placed, text)


def _drawn(source: Source, number: int, blocks: Sequence[Block]) -> Any:
    """One page; noise and tilt come from the path, so that a change of the text does not change them."""
    import numpy as np
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    chance = np.random.default_rng(zlib.crc32(f"{source.path}#{number}".encode()))
    size = RECEIPT if source.layout == "receipt" else LETTER
    image = Image.new("L", size, _PAPER)
    draw = ImageDraw.Draw(image)
    y = 80.0
    for block in blocks:
        points = 40 if block.kind == "heading" else 27
        font = ImageFont.load_default(points)
        for left, right in _lines(block, lambda text, font=font: font.getlength(text), size[0] - 2 * MARGIN):
            draw.text((MARGIN, y), left, font=font, fill=_INK)
            draw.text((size[0] - MARGIN - font.getlength(right), y), right, font=font, fill=_INK)
            y += points * 1.45
        y += 26
    if y > size[1] - 40:
        raise ValueError(f"{source.path}: page {number} does not fit")
    image = image.rotate(float(chance.uniform(-0.9, 0.9)), fillcolor=_PAPER, resample=Image.Resampling.BICUBIC).filter(
        ImageFilter.GaussianBlur(0.8)
    )
    pixels = np.asarray(image, dtype=np.float32) + chance.normal(0, _GRAIN, (size[1], size[0]))
    specks = chance.integers(0, (size[1], size[0]), (_SPECKS, 2))
    pixels[specks[:, 0], specks[:, 1]] = 90
    return Image.fromarray(pixels.clip(0, 255).astype("uint8"))


def _lines(block: Block, width: Any, measure: float) -> Iterator[tuple[str, str]]:
    """(text at the left edge, text at the right edge) of each line."""
    if block.kind == "code":
        for line in block.text.split("\n"):
            left, *right = re.split(r"\s{2,}", line.strip(), maxsplit=1)
            yield left, right[0] if right else ""
        return
    line = ""
    for word in block.text.split():
        longer = f"{line} {word}".strip()
        if line and width(longer) > measure:
            yield line, ""
            longer = word
        line = longer
    yield line, ""


def _file(source: Source, images: Sequence[Any]) -> bytes:
    suffix = Path(source.path).suffix
    buffer = io.BytesIO()
    if suffix == ".pdf":
        return _pdf(source, images)
    if suffix == ".jpg":
        images[0].save(buffer, "JPEG", quality=82, dpi=(DPI, DPI))
    else:
        images[0].save(buffer, "PNG", dpi=(DPI, DPI))
    return buffer.getvalue()


def _pdf(source: Source, images: Sequence[Any]) -> bytes:
    from fpdf import FPDF

    points = 72 / DPI
    pdf = FPDF(unit="pt", format=(LETTER[0] * points, LETTER[1] * points))
    pdf.set_creation_date(datetime.fromisoformat(source.committed))
    pdf.set_producer("Harbour office scanner")
    for image in images:
        pdf.add_page()
        pdf.image(image, x=0, y=0, w=LETTER[0] * points, h=LETTER[1] * points)
    return bytes(pdf.output())
