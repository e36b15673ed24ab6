"""Images: every frame is a page that is read by OCR."""

import warnings
from typing import Any

from PIL import Image, ImageOps

from tasks.documents.cage_worker import Pages
from tasks.errors import DocumentError
from tasks.installed import version
from tasks.parse.block_elements import elements_of
from tasks.parse.blocks import Block
from tasks.parse.elements import Row, parsed
from tasks.parse.ocr import engine_of, no_text, ocr_blocks
from tasks.parse.ocr_settings import OcrSettings

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")
_USUAL_DPI = 200
_BELIEVED_DPI = range(50, 1201)
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, KeyError, IndexError, TypeError)
"""What Pillow raises on damaged files."""


def parse_image(path: str, settings: dict[str, Any], declared: str | None, pages: Pages) -> Row:
    """The text of an image, page by page where it has several (TIFF), turned as its EXIF data say.

    Boxes are in points by the resolution that the file states, or 200 dpi where it states none that can be true.

    Raises:
        DocumentError: `corrupt`, `too_many_pages`, `too_large` (pixels), `no_text`.
    """
    ocr = OcrSettings.model_validate(settings["ocr"])
    warnings.simplefilter("ignore")  # Pillow's doubts about large images: they are refused by max_pixels
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(path, formats=_FORMATS) as image:
            count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
            _check(image, count, settings["max_pages"], ocr)
            blocks: list[Block] = []
            heights: dict[int, float] = {}
            missing = []
            for number in range(1, count + 1):
                if not pages.enter(number):
                    missing.append(number)
                    continue
                pages.extend()
                image.seek(number - 1)
                _check(image, count, settings["max_pages"], ocr)
                found, heights[number], blank = _page(image, number, ocr)
                blocks += found
                if not found and not blank:
                    missing.append(number)
    except DocumentError:
        raise
    except _DAMAGED as error:
        raise DocumentError(
            "corrupt",
            f"the image cannot be read ({type(error).__name__})",
            remedy="fetch the file again, or save it anew in its program and replace it in the source",
        ) from None
    pages.done()
    if not blocks and missing:
        raise no_text(count, ocr)
    elements = elements_of(blocks, count, heights)
    engine = engine_of(ocr) or "none"
    return parsed(elements, pages=count, pages_without_output=missing) | {
        "parser": f"pillow+{engine}",
        "parser_version": version("pillow"),
    }


def _check(image: Image.Image, count: int, max_pages: int, ocr: OcrSettings) -> None:
    if count > max_pages:
        raise DocumentError(
            "too_many_pages",
            f"the image has {count} pages, more than max_pages = {max_pages}",
            remedy="raise max_pages in the settings of parse, or split the document",
        )
    if image.width * image.height > ocr.max_pixels:
        raise DocumentError(
            "too_large",
            f"the image has {image.width * image.height:,} pixels, more than max_pixels = {ocr.max_pixels:,}",
            remedy="raise max_pixels in stages.parse.ocr, or store the image smaller",
        )


def _page(image: Image.Image, number: int, ocr: OcrSettings) -> tuple[list[Block], float, bool]:
    """The blocks of the current frame, its height in points, and whether all its pixels have one colour."""
    points_per_pixel = 72 / _dpi(image)
    frame = _on_white(ImageOps.exif_transpose(image))
    blank = len(frame.getcolors(2) or (0, 0)) == 1
    found = [] if blank else ocr_blocks(frame, number, points_per_pixel, ocr)
    return found, frame.height * points_per_pixel, blank


def _dpi(image: Image.Image) -> float:
    stated = image.info.get("dpi", (0, 0))[0]
    try:
        dpi = float(stated)
    except (TypeError, ValueError, ZeroDivisionError):
        return _USUAL_DPI
    return dpi if round(dpi) in _BELIEVED_DPI else _USUAL_DPI


def _on_white(image: Image.Image) -> Image.Image:
    """The image in RGB; what is transparent becomes white, like paper."""
    if image.mode.startswith("I") or image.mode == "F":
        image = ImageOps.autocontrast(image.convert("F").point(lambda value: value / 256).convert("L"))
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        layered = image.convert("RGBA")
        paper = Image.new("RGBA", layered.size, "white")
        return Image.alpha_composite(paper, layered).convert("RGB")
    return image.convert("RGB")
