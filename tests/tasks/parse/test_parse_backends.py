"""Which parser reads what: chosen in the settings, and named in the key only when chosen."""

from importlib.metadata import version

import pytest
from pydantic import ValidationError

from tasks.errors import ConfigurationError, DocumentError
from tasks.parse import backends
from tasks.parse.backends import FORMATS, Backend, Format, backend_of, package_versions
from tasks.parse.settings import ParseSettings

OTHER = Backend("tests.nowhere:parse", ("corpusgate-has-no-such-package",), "no-such-extra")


@pytest.fixture
def two_pdf_parsers(monkeypatch):
    pdf = Format(("application/pdf",), {**FORMATS["pdf"].backends, "other": OTHER})
    monkeypatch.setattr(backends, "FORMATS", {**FORMATS, "pdf": pdf})


def test_formats_that_are_left_out_keep_their_default():
    assert ParseSettings(backends={"pdf": "pymupdf"}) == ParseSettings()
    assert ParseSettings().backends == {name: kind.default for name, kind in FORMATS.items()}


@pytest.mark.parametrize(("choice", "named"), [({"pdf": "acrobat"}, "pymupdf"), ({"wordperfect": "x"}, "markdown")])
def test_what_does_not_exist_is_refused_with_what_does(choice, named):
    with pytest.raises(ValidationError, match=named):
        ParseSettings(backends=choice)


@pytest.mark.parametrize("tables", ["ruled", "layout", "none"])
def test_how_tables_are_found_is_refused_with_parsers_that_do_not_heed_it(tables):
    assert ParseSettings(tables=tables).tables == tables
    for backend in ("pypdfium2", "docling", "docling-models"):
        assert ParseSettings(backends={"pdf": backend}).tables == "auto"
        with pytest.raises(ValidationError, match=f"tables: {tables} is for .* pymupdf; {backend} does not heed it"):
            ParseSettings(backends={"pdf": backend}, tables=tables)


def test_a_media_type_without_parser_is_refused_with_the_formats_there_are():
    with pytest.raises(DocumentError, match=r"application/x-dbf.*pdf, html") as raised:
        backend_of("application/x-dbf", ParseSettings().backends)
    assert raised.value.error_class == "unsupported_type"


def test_every_media_type_belongs_to_one_format():
    types = [media_type for kind in FORMATS.values() for media_type in kind.media_types]
    assert len(types) == len(set(types))


def test_the_key_holds_the_versions_of_chosen_parsers_only(two_pdf_parsers):
    # The layout model that finds tables is a distribution of its own, and so is what runs it.
    assert package_versions({"pdf": "pymupdf"}) == {
        name: version(name) for name in ("pymupdf", "pymupdf-layout", "onnxruntime")
    }
    assert package_versions({"pdf": "pypdfium2"}) == {"pypdfium2": version("pypdfium2")}


def test_what_a_parser_can_do_without_is_in_the_key_also_where_it_is_not_installed(monkeypatch):
    spare = Backend("tests.nowhere:parse", (), optional=("corpusgate-has-no-such-package",))
    monkeypatch.setattr(backends, "FORMATS", {"pdf": Format(("application/pdf",), {"spare": spare})})
    assert package_versions({"pdf": "spare"}) == {"corpusgate-has-no-such-package": "none"}


def test_a_chosen_parser_that_is_not_installed_is_an_error_with_its_extra(two_pdf_parsers):
    with pytest.raises(ConfigurationError, match="pdf is to be read by other") as raised:
        package_versions({"pdf": "other"})
    assert (
        raised.value.remedy == ".venv/bin/pip install -e '.[no-such-extra]', in corpusgate's folder, "
        "or choose pymupdf, pypdfium2, docling, docling-models or outside"
    )
