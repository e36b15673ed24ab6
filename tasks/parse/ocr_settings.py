"""Settings of OCR."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

# fmt: off
NOT_BY_RAPIDOCR = frozenset((
    "amh", "ara", "asm", "aze_cyrl", "bel", "ben", "bod", "bul", "chr", "dzo", "fas", "guj", "heb", "hin", "hye",
    "iku", "kan", "kat", "kaz", "khm", "kir", "kor", "lao", "mal", "mar", "mkd", "mon", "mya", "nep", "ori", "pan",
    "pus", "rus", "san", "sin", "snd", "srp", "syr", "tam", "tel", "tgk", "tha", "tir", "uig", "ukr", "urd",
    "uzb_cyrl", "yid",
))
# fmt: on
"""Languages, by Tesseract's names, in scripts for which rapidocr's model has no characters. It reads Latin, Greek,
Chinese and Japanese."""


class OcrSettings(BaseModel):
    """How text is read off images, and which pages of a PDF count as images."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    engine: Literal["auto", "rapidocr", "tesseract", "off"] = Field(
        default="auto",
        description="Who reads: `tesseract` (a program of the system, with data for each language), `rapidocr` (a "
        "package with its weights in it), the first of the two that is there and reads the languages, or nobody.",
    )
    languages: tuple[str, ...] = Field(
        default=("eng",),
        min_length=1,
        description="Languages of the texts by Tesseract's names (`eng`, `deu`, `chi_sim`). Tesseract needs their "
        "data; rapidocr has one model for Latin, Greek, Chinese and Japanese script and refuses languages in others.",
    )
    dpi: int = Field(
        default=200,
        ge=72,
        le=600,
        description="Resolution at which a page of a PDF is drawn for OCR; less where the page is so large that it "
        "would have more than max_pixels. Images are read as they are.",
    )
    min_confidence: float = Field(
        default=0.5, ge=0, le=1, description="Lines that the engine is less sure of are left out."
    )
    garbage_share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="A page of a PDF is read by OCR if more than this share of its text layer means nothing (U+FFFD, "
        "U+FFFF, private use, control characters, `(cid:n)`).",
    )
    stamp_characters: int = Field(
        default=40,
        ge=0,
        description="So is one that a single image covers (nine tenths or more) if its text layer has no more letters "
        "and digits than this: a scan with a stamp or a page number printed over it.",
    )
    max_pixels: int = Field(
        default=50_000_000, ge=1_000_000, le=500_000_000, description="An image with more pixels is quarantined."
    )
