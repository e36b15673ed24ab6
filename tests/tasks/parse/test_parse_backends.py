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


def test_a_media_type_without_parser_is_refused_with_the_formats_there_are():
    with pytest.raises(DocumentError, match=r"application/x-dbf.*pdf, html") as raised:
        backend_of("application/x-dbf", ParseSettings().backends)
    assert raised.value.error_class == "unsupported_type"


def test_every_media_type_belongs_to_one_format():
    types = [media_type for kind in FORMATS.values() for media_type in kind.media_types]
    assert len(types) == len(set(types))


def test_the_key_holds_the_versions_of_chosen_parsers_only(two_pdf_parsers):
    assert package_versions({"pdf": "pymupdf"}) == {"pymupdf": version("pymupdf")}


def test_a_chosen_parser_that_is_not_installed_is_an_error_with_its_extra(two_pdf_parsers):
    with pytest.raises(ConfigurationError, match="pdf is to be read by other") as raised:
        package_versions({"pdf": "other"})
    assert (
        raised.value.remedy == ".venv/bin/pip install -e '.[no-such-extra]', in corpusgate's folder, "
        "or choose pymupdf, pypdfium2, docling, docling-models or outside"
    )
