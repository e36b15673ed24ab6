"""Pages drawn for the tests of OCR, with the typeface that Pillow brings."""

import io
import random

from PIL import Image, ImageDraw, ImageFilter, ImageFont

LINES = (
    "Minutes of the harbour board",
    "The crane on pier seven was inspected on Monday.",
    "Its brake must be replaced before the winter season.",
    "The board approved 4,250 euros for the repair.",
)
SIZE = (1654, 1000)
"""Pixels of a page 595 by 360 points large at 200 dpi."""


def typeface(size=36):
    return ImageFont.load_default(size)


def typeface_file(path):
    """Writes the typeface to a file, for a PDF to embed."""
    path.write_bytes(typeface().font_bytes)
    return path


def page(lines=LINES, *, turn=0, tilt=0.0, noise=0, mode="L"):
    """A page of lines, turned clockwise by a multiple of 90 degrees or tilted by a few, with speckles."""
    image = Image.new("L", SIZE, 255)
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((150, 150 + 80 * number), line, font=typeface(), fill=0)
    if noise:
        chance = random.Random(5)
        for _ in range(noise):
            draw.point((chance.randrange(SIZE[0]), chance.randrange(SIZE[1])), fill=chance.choice((0, 90)))
        image = image.filter(ImageFilter.GaussianBlur(0.7))
    if tilt:
        image = image.rotate(-tilt, fillcolor=255, resample=Image.Resampling.BICUBIC)
    return image.rotate(-turn, expand=True).convert(mode)


def png(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG", dpi=(200, 200))
    return buffer.getvalue()
