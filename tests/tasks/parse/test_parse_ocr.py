"""Images and scanned pages: what is drawn on them is read, lies where it was drawn, and is marked as recognized."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fpdf import FPDF
from PIL import Image

from tasks.documents.cage_worker import Pages
from tasks.errors import ConfigurationError, DocumentError
from tasks.metrics.text_distance import cer
from tasks.parse import ocr_tesseract
from tasks.parse.image import parse_image
from tasks.parse.lines import Line
from tasks.parse.ocr import engine_of, fingerprint, needs_ocr
from tasks.parse.ocr_settings import OcrSettings
from tasks.parse.pdf import parse_pdf
from tasks.parse.settings import ParseSettings
from tasks.parse.stage import STAGE
from tests.flows.test_no_network_and_no_torch import GUARD
from tests.tasks.parse.drawn_pages import LINES, SIZE, page, png, typeface_file

RAPID = {"engine": "rapidocr"}
ENGINES = [
    "rapidocr",
    pytest.param("tesseract", marks=pytest.mark.skipif(not shutil.which("tesseract"), reason="no tesseract on PATH")),
]


def read(path, *, skip=(), max_pages=5000, **ocr):
    settings = ParseSettings(ocr={**RAPID, **ocr}, max_pages=max_pages).model_dump(mode="json", exclude={"limits"})
    parser = parse_pdf if path.suffix == ".pdf" else parse_image
    return parser(str(path), settings, None, Pages(lambda message: None, skip))


def text_of(row, page_number=None):
    elements = [e for e in row["elements"] if page_number in (None, e["page"])]
    return " ".join(" ".join(e["text"].split()) for e in elements)


def box_of(row):
    boxes = [e["bbox"] for e in row["elements"]]
    return [f(edge) for f, edge in zip((min, min, max, max), zip(*boxes, strict=True), strict=True)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "drawn",
    [{}, {"turn": 90}, {"turn": 180}, {"turn": 270}, {"tilt": 3.0}, {"tilt": -3.0}, {"noise": 4000}],
    ids=str,
)
def test_lines_are_read_in_order_however_the_page_lies(tmp_path, engine, drawn):
    (tmp_path / "page.png").write_bytes(png(page(**drawn)))
    row = read(tmp_path / "page.png", engine=engine)
    assert cer(" ".join(LINES), text_of(row)) < 0.02
    assert {element["source"] for element in row["elements"]} == {"ocr"}
    assert row["parser"] == f"pillow+{engine}"


FAILING = """#!/bin/sh
# Answers as Tesseract does; of images only those that are 100 pixels wide are read.
case "$1" in
--list-langs) printf 'List of available languages in "/nowhere/" (1):\\neng\\n'; exit 0;;
--version) echo 'tesseract 5.3.0'; exit 0;;
esac
width=$(od -An -tu1 -j16 -N4 | tr -s ' ' | sed 's/^ //;s/ $//')
if [ "$width" != "0 0 0 100" ]; then echo 'cannot' >&2; exit 1; fi
printf 'level\\tpage_num\\tblock_num\\tpar_num\\tline_num\\tword_num\\tleft\\ttop\\twidth\\theight\\tconf\\ttext\\n'
printf '4\\t1\\t1\\t1\\t1\\t0\\t5\\t5\\t80\\t10\\t-1\\t\\n5\\t1\\t1\\t1\\t1\\t1\\t5\\t5\\t80\\t10\\t96\\tBrake\\n'
"""


@pytest.fixture
def failing_tesseract(tmp_path, monkeypatch):
    """A Tesseract that ends with 1 on most images."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tesseract").write_text(FAILING, encoding="utf-8")
    (tmp_path / "bin" / "tesseract").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    for answered_once in (ocr_tesseract.languages, ocr_tesseract.version):
        answered_once.cache_clear()
    yield
    for answered_once in (ocr_tesseract.languages, ocr_tesseract.version):
        answered_once.cache_clear()


def test_a_page_that_tesseract_fails_on_is_missing_and_the_others_stay(tmp_path, failing_tesseract):
    frames = [Image.linear_gradient("L").resize((width, 40)) for width in (100, 120, 100)]
    frames[0].save(tmp_path / "fax.tiff", save_all=True, append_images=frames[1:], dpi=(200, 200))
    row = read(tmp_path / "fax.tiff", engine="tesseract")
    assert [(e["page"], e["text"]) for e in row["elements"]] == [(1, "Brake"), (3, "Brake")]
    assert row["pages_without_output"] == [2]
    frames[1].save(tmp_path / "page.png")
    with pytest.raises(DocumentError, match="OCR found none"):
        read(tmp_path / "page.png", engine="tesseract")


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_boxes_lie_where_the_ink_is_on_the_page_as_it_is(tmp_path, turn):
    image = page(turn=turn)
    (tmp_path / "page.png").write_bytes(png(image))
    ink = [edge * 72 / 200 for edge in image.point(lambda value: 255 - value).getbbox()]
    assert box_of(read(tmp_path / "page.png")) == pytest.approx(ink, abs=6)


def test_a_page_with_a_text_layer_is_never_read_by_ocr(tmp_path):
    (tmp_path / "scan.png").write_bytes(png(page()))
    document = FPDF(unit="pt", format=(595, 360))
    document.set_font("helvetica", size=12)
    document.add_page()
    document.cell(text="The digital page says that the crane is safe and sound.")
    document.image(tmp_path / "scan.png", x=300, y=200, w=250)
    document.add_page()
    document.image(tmp_path / "scan.png", x=0, y=0, w=595)
    document.output(tmp_path / "mixed.pdf")
    row = read(tmp_path / "mixed.pdf")
    assert next((e["page"], e["source"]) for e in row["elements"]) == (1, "text")
    assert text_of(row, 1) == "The digital page says that the crane is safe and sound."
    assert {e["source"] for e in row["elements"] if e["page"] == 2} == {"ocr"}
    assert cer(" ".join(LINES), text_of(row, 2)) < 0.02
    ink = [edge * 595 / SIZE[0] for edge in page().point(lambda value: 255 - value).getbbox()]
    second = {"elements": [e for e in row["elements"] if e["page"] == 2]}
    assert box_of(second) == pytest.approx(ink, abs=6)
    assert row["pages_without_output"] == []


def test_a_stamp_printed_over_a_scan_does_not_hide_it(tmp_path):
    (tmp_path / "scan.png").write_bytes(png(page()))
    document = FPDF(unit="pt", format=(595, 360))
    document.set_font("helvetica", size=9)
    document.add_page()
    document.image(tmp_path / "scan.png", x=0, y=0, w=595)
    document.text(x=500, y=350, text="CASE 000017")
    document.output(tmp_path / "stamped.pdf")
    assert "brake must be replaced" in text_of(read(tmp_path / "stamped.pdf"))
    assert text_of(read(tmp_path / "stamped.pdf", stamp_characters=0)) == "CASE 000017"


def test_a_text_layer_without_meaning_is_read_off_the_page(tmp_path):
    """The font's own table says U+FFFD for every character, as broken exports do."""
    document = FPDF(unit="pt", format=(595, 360))
    document.set_compression(False)
    document.add_font("drawn", fname=typeface_file(tmp_path / "face.ttf"))
    document.set_font("drawn", size=14)
    document.add_page()
    for line in LINES:
        document.cell(text=line, new_x="LMARGIN", new_y="NEXT", h=24)
    data = bytes(document.output())
    broken = re.sub(rb"(?m)^<([0-9A-F]{2,4})> <[0-9A-F]{4}>", rb"<\1> <FFFD>", data)
    assert broken != data
    (tmp_path / "broken.pdf").write_bytes(broken)
    unread = read(tmp_path / "broken.pdf", engine="off")
    assert set(text_of(unread)) <= {"\ufffd", " "}
    row = read(tmp_path / "broken.pdf")
    assert cer(" ".join(LINES), text_of(row)) < 0.02
    assert {element["source"] for element in row["elements"]} == {"ocr"}


@pytest.mark.parametrize("garbage", ["\ufffd", "\uffff", "\ue123", "(cid:7)", "\x02"])
def test_which_text_layers_are_garbage(garbage):
    def lines(text):
        return [Line(text, (0, 0, 1, 1), 10, False, False, False, 0)]

    def no_image():
        return 0.0

    assert needs_ocr(lines(garbage * 4 + "abcdef"), no_image, OcrSettings())
    assert not needs_ocr(lines("a" * 400 + garbage * 4), no_image, OcrSettings())


def test_every_page_of_a_tiff_is_a_page(tmp_path):
    blank = Image.new("L", SIZE, 255)
    frames = [page(LINES[:2]), blank, Image.effect_noise(SIZE, 60), page(LINES[2:])]
    frames[0].save(tmp_path / "fax.tiff", save_all=True, append_images=frames[1:], dpi=(200, 200))
    row = read(tmp_path / "fax.tiff")
    # The blank page has nothing to give; the third shows something, and nothing came of it.
    assert (row["pages"], row["pages_without_output"]) == (4, [3])
    assert cer(" ".join(LINES[:2]), text_of(row, 1)) < 0.02
    assert cer(" ".join(LINES[2:]), text_of(row, 4)) < 0.02
    assert read(tmp_path / "fax.tiff", skip=[1])["pages_without_output"] == [1, 3]
    with pytest.raises(DocumentError) as refused:
        read(tmp_path / "fax.tiff", max_pages=3)
    assert refused.value.error_class == "too_many_pages"


def test_a_photograph_is_turned_as_its_camera_says(tmp_path):
    lying = page(turn=270, mode="RGB")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by 90 degrees clockwise
    lying.save(tmp_path / "photo.jpg", exif=exif, dpi=(200, 200), quality=90)
    row = read(tmp_path / "photo.jpg")
    assert cer(" ".join(LINES), text_of(row)) < 0.02
    ink = [edge * 72 / 200 for edge in page().point(lambda value: 255 - value).getbbox()]
    assert box_of(row) == pytest.approx(ink, abs=6)


@pytest.mark.parametrize("mode", ["1", "P", "RGBA", "CMYK"])
def test_any_way_of_storing_pixels_is_read(tmp_path, mode):
    image = page().convert(mode)
    image.save(tmp_path / "page.tiff" if mode == "CMYK" else tmp_path / "page.png")
    assert cer(" ".join(LINES), text_of(read(next(tmp_path.glob("page.*"))))) < 0.02


def test_what_is_clear_on_a_transparent_image_is_paper(tmp_path):
    image = Image.new("RGBA", SIZE, (0, 0, 0, 0))
    image.putalpha(page().point(lambda value: 255 - value))
    image.save(tmp_path / "logo.png")
    assert cer(" ".join(LINES), text_of(read(tmp_path / "logo.png"))) < 0.02


def test_an_image_without_text_is_a_failure_with_its_reason(tmp_path):
    Image.effect_noise(SIZE, 60).save(tmp_path / "noise.png")
    for engine, reason in (("rapidocr", "OCR found none"), ("off", "OCR is off")):
        with pytest.raises(DocumentError, match=reason) as failed:
            read(tmp_path / "noise.png", engine=engine)
        assert failed.value.error_class == "no_text"


def test_a_blank_image_has_no_element_and_no_lost_page(tmp_path):
    Image.new("RGB", SIZE, "white").save(tmp_path / "blank.png")
    row = read(tmp_path / "blank.png")
    assert (row["elements"], row["pages_without_output"]) == ([], [])


def test_more_pixels_than_allowed_are_refused_before_they_are_unpacked(tmp_path):
    Image.new("1", (30_000, 30_000)).save(tmp_path / "bomb.png")
    assert (tmp_path / "bomb.png").stat().st_size < 200_000
    with pytest.raises(DocumentError) as refused:
        read(tmp_path / "bomb.png")
    assert refused.value.error_class == "too_large"
    assert "900,000,000" in str(refused.value)


def test_a_damaged_image_is_corrupt(tmp_path):
    data = png(page())
    (tmp_path / "torn.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(DocumentError) as failed:
        read(tmp_path / "torn.png")
    assert failed.value.error_class == "corrupt"


def test_a_language_that_nobody_reads_is_refused():
    with pytest.raises(ConfigurationError, match="rapidocr does not read heb"):
        engine_of(OcrSettings(engine="rapidocr", languages=("eng", "heb")))
    with pytest.raises(ConfigurationError, match="tesseract"):
        engine_of(OcrSettings(engine="tesseract", languages=("xyz",)))
    assert engine_of(OcrSettings(languages=("heb", "xyz"))) is None


def test_the_stage_key_knows_who_reads():
    off, on = (fingerprint(OcrSettings(engine=engine)) for engine in ("off", "rapidocr"))
    assert off == {"ocr": "none"}
    assert {"rapidocr", "onnxruntime"} <= on.keys()
    assert STAGE.fingerprint(ParseSettings(ocr=OcrSettings(engine="rapidocr"))).items() >= on.items()


def test_reading_needs_neither_network_nor_torch(tmp_path):
    (tmp_path / "page.png").write_bytes(png(page()))
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    code = (
        "import sys; from tests.tasks.parse.test_parse_ocr import read, text_of; from pathlib import Path;"
        "print(text_of(read(Path(sys.argv[1]))))"
    )
    log = tmp_path / "network.log"
    path = os.pathsep.join([str(tmp_path / "guard"), str(Path(__file__).parents[3])])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "page.png")],
        env={**os.environ, "PYTHONPATH": path, "NETWORK_GUARD_LOG": str(log)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "brake must be replaced" in done.stdout
    assert set(log.read_text().split()) == {"guarded"}


def test_published_pages_are_read_as_people_transcribed_them(shared_data):
    folder = shared_data / "ocr" / "tesseract-test" / "testing"
    for image, text, most in (
        ("phototest.tif", "phototest.gold.txt", 0.0),
        ("phototest-rotated-180.png", "phototest.gold.txt", 0.0),
        ("phototest-rotated-L.png", "phototest.gold.txt", 0.0),
        ("phototest-rotated-R.png", "phototest.gold.txt", 0.0),
        ("eurotext.tif", "eurotext.txt", 0.02),
    ):
        assert cer((folder / text).read_text(encoding="utf-8"), text_of(read(folder / image))) <= most, image
