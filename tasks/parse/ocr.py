"""Reading text off images: one engine of two, and the same blocks and boxes from either."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tasks.errors import ConfigurationError, DocumentError
from tasks.installed import version
from tasks.metrics.garbage import garbage_characters
from tasks.parse import ocr_tesseract
from tasks.parse.blocks import Block, paragraphs
from tasks.parse.lines import Line
from tasks.parse.ocr_geometry import Reading, page_frame, straight_lines
from tasks.parse.ocr_settings import NOT_BY_RAPIDOCR, OcrSettings
from tasks.parse.order import reading_order

if TYPE_CHECKING:
    from PIL.Image import Image

_PACKAGES = ("rapidocr", "onnxruntime", "opencv-python-headless", "pillow")
_COVERED = 0.9
_REMEDY = "install Tesseract with the data of these languages, or rapidocr with onnxruntime; or set engine: auto"


def engine_of(settings: OcrSettings) -> Literal["rapidocr", "tesseract"] | None:
    """The engine that these settings mean on this machine; null where nobody reads.

    Raises:
        ConfigurationError: the engine that is asked for is not installed, or does not read one of the languages.
    """
    if settings.engine == "off":
        return None
    for name in ("tesseract", "rapidocr"):
        if settings.engine in ("auto", name) and not _lack(name, settings.languages):
            return "tesseract" if name == "tesseract" else "rapidocr"
    if settings.engine == "auto":
        return None
    raise ConfigurationError(f"stages.parse.ocr: {_lack(settings.engine, settings.languages)}", remedy=_REMEDY)


def fingerprint(settings: OcrSettings) -> Mapping[str, str]:
    """The versions of the engine and its models, which shape what is read."""
    engine = engine_of(settings)
    if engine is None:
        return {"ocr": "none"}
    if engine == "rapidocr":
        return {name: version(name) for name in _PACKAGES}
    data = {f"tesseract {name}": _sha256(_tesseract_data(name)) for name in (*settings.languages, "osd")}
    return {"tesseract": ocr_tesseract.version(), "pillow": version("pillow")} | data


def ocr_blocks(image: "Image", page: int, points_per_pixel: float, settings: OcrSettings) -> list[Block]:
    """The blocks of an image in reading order, with boxes in points of the image as it is; none where nobody reads.

    The image is turned upright and its lines are laid straight first, so that order does not depend on how it was
    scanned.
    """
    engine = engine_of(settings)
    if engine is None:
        return []
    reading = _read(engine, image.convert("RGB"), points_per_pixel, settings)
    frame = page_frame(reading, image.width * points_per_pixel, image.height * points_per_pixel)
    lines = straight_lines(reading, frame, points_per_pixel)
    blocks = [block for group in reading_order(lines) for block in paragraphs(group, page)]
    return [replace(block, box=frame.to_page(block.box)) for block in blocks]


def needs_ocr(lines: Sequence[Line], covered: Callable[[], float], settings: OcrSettings) -> bool:
    """Whether a page with this text layer must be read by OCR; `covered` tells the share its largest image covers.

    A page without a text layer is for the caller to judge: it may be blank.
    """
    text = "".join(line.text for line in lines)
    if garbage_characters(text) > settings.garbage_share * len(text):
        return True
    return sum(map(str.isalnum, text)) <= settings.stamp_characters and covered() >= _COVERED


def no_text(pages: int, settings: OcrSettings) -> DocumentError:
    """The error of a document whose pages show something, and that gave no text at all."""
    if engine_of(settings) is None:
        why = "and OCR is off" if settings.engine == "off" else "and there is no OCR engine that reads its languages"
        remedy = "switch OCR on" if settings.engine == "off" else _REMEDY
    else:
        why, remedy = "and OCR found none", "open it in a viewer: if there is text, raise dpi or lower min_confidence"
    what = "it has no usable text layer" if pages == 1 else f"none of its {pages} pages has a usable text layer"
    return DocumentError("no_text", f"{what}, {why}", remedy=f"{remedy} (settings of stages.parse.ocr)")


def drawing_dpi(width: float, height: float, settings: OcrSettings) -> int:
    """The resolution at which to draw a page of this size in points.

    >>> drawing_dpi(595, 842, OcrSettings()), drawing_dpi(59500, 842, OcrSettings(max_pixels=1_000_000))
    (200, 10)
    """
    most = 72 * (settings.max_pixels / max(width * height, 1.0)) ** 0.5
    return max(1, min(settings.dpi, int(most)))


def _read(engine: str, image: "Image", points_per_pixel: float, settings: OcrSettings) -> Reading:
    if engine == "tesseract":
        dpi = round(72 / points_per_pixel)
        return ocr_tesseract.read_image(image, dpi, settings.languages, settings.min_confidence)
    from tasks.parse import ocr_rapidocr

    return ocr_rapidocr.read_image(image, settings.min_confidence)


def _lack(engine: str, languages: Sequence[str]) -> str | None:
    """What keeps an engine from reading these languages; null where nothing does."""
    if engine == "tesseract":
        if ocr_tesseract.executable() is None:
            return "tesseract is not on the PATH"
        missing = [name for name in languages if name not in ocr_tesseract.languages()[1]]
        return f"tesseract has no data for {', '.join(missing)}" if missing else None
    if find_spec("rapidocr") is None or find_spec("onnxruntime") is None:
        return "rapidocr or onnxruntime is not installed"
    unread = [name for name in languages if name in NOT_BY_RAPIDOCR]
    return f"rapidocr does not read {', '.join(unread)}" if unread else None


def _tesseract_data(language: str) -> Path:
    return Path(ocr_tesseract.languages()[0]) / f"{language}.traineddata"


@cache
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
