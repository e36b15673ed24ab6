"""The parsers there are: for each format its media types and its backends, of which the settings choose one.

Adding a backend is a line here and a function `module:function` that is called in a worker of the cage as
(path, settings, declared media type, pages); see `docs/extending.md`. This module imports no parser.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from types import MappingProxyType

from tasks.documents.sniff import CSV, DOC, DOCX, EMAIL, ENCRYPTED_OFFICE, EPUB, ODT, PPT, PPTX, RTF, TSV, XLS, XLSX
from tasks.errors import ConfigurationError, DocumentError
from tasks.installed import version


@dataclass(frozen=True, slots=True)
class Backend:
    """One parser of one format.

    `packages` are the distributions whose versions shape its output; `optional` are those that shape it where they are
    installed, and that it does without. `extra` is the extra of corpusgate that brings the packages, where an ordinary
    installation does not.
    """

    target: str
    packages: tuple[str, ...] = ()
    extra: str | None = None
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: the media types (as sniffed) that are it, and its backends by name, the default first."""

    media_types: tuple[str, ...]
    backends: Mapping[str, Backend]

    @property
    def default(self) -> str:
        """The name of the backend that is used where the settings name none."""
        return next(iter(self.backends))


def _docling(function: str, *readers: str) -> Backend:
    return Backend(f"tasks.parse.office:{function}", ("docling-slim", "docling-core", "lxml", *readers))


_OLD_OFFICE = "save it in the format that followed (LibreOffice: soffice --convert-to {} FILE) and ingest that"
_REFUSED: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        DOC: ("unsupported_type", "there is no parser for the old Word format (.doc)", _OLD_OFFICE.format("docx")),
        XLS: ("unsupported_type", "there is no parser for the old Excel format (.xls)", _OLD_OFFICE.format("xlsx")),
        PPT: (
            "unsupported_type",
            "there is no parser for the old PowerPoint format (.ppt)",
            _OLD_OFFICE.format("pptx"),
        ),
        ENCRYPTED_OFFICE: (
            "encrypted",
            "the Office file needs a password to be read",
            "remove the password and replace the file in the source",
        ),
    }
)
"""Media types that are known and not read: error class, cause, remedy."""

OUTSIDE = Backend("tasks.parse.outside:parse_outside", ("markdown-it-py", "lxml", "charset-normalizer", "pypdfium2"))
"""Takes what another parser made of a file; every format has it."""

_PARSED_HERE: Mapping[str, Format] = MappingProxyType(
    {
        "pdf": Format(
            ("application/pdf",),
            {
                "pymupdf": Backend(
                    "tasks.parse.pdf:parse_pdf", ("pymupdf",), optional=("pymupdf-layout", "onnxruntime")
                ),
                "pypdfium2": Backend("tasks.parse.pdfium:parse_pdf", ("pypdfium2",)),
                "docling": Backend(
                    "tasks.parse.pdf_docling:parse_native",
                    ("docling-slim", "docling-core", "docling-parse", "pypdfium2"),
                ),
                "docling-models": Backend(
                    "tasks.parse.pdf_docling:parse_with_models",
                    ("docling", "docling-slim", "docling-core", "docling-parse", "docling-ibm-models", "pypdfium2"),
                    "docling-models",
                ),
            },
        ),
        "html": Format(
            ("text/html", "application/xhtml+xml"),
            {"lxml": Backend("tasks.parse.html:parse_html", ("lxml", "charset-normalizer"))},
        ),
        "markdown": Format(
            ("text/markdown",),
            {
                "markdown-it": Backend(
                    "tasks.parse.markdown:parse_markdown", ("markdown-it-py", "lxml", "charset-normalizer")
                )
            },
        ),
        "docx": Format((DOCX,), {"docling": _docling("parse_docx", "python-docx")}),
        "pptx": Format((PPTX,), {"docling": _docling("parse_pptx", "python-pptx")}),
        "xlsx": Format((XLSX,), {"docling": _docling("parse_xlsx", "openpyxl")}),
        "odt": Format((ODT,), {"docling": _docling("parse_odt", "odfdo")}),
        "rtf": Format((RTF,), {"striprtf": Backend("tasks.parse.rtf:parse_rtf", ("striprtf",))}),
        "epub": Format((EPUB,), {"lxml": Backend("tasks.parse.epub:parse_epub", ("lxml", "charset-normalizer"))}),
        "email": Format((EMAIL,), {"email": Backend("tasks.parse.mail:parse_mail", ("lxml", "charset-normalizer"))}),
        "csv": Format((CSV, TSV), {"docling": _docling("parse_csv", "charset-normalizer")}),
        "text": Format(
            ("text/plain", "application/json"),
            {"text": Backend("tasks.parse.text:parse_text", ("charset-normalizer",))},
        ),
        "image": Format(
            ("image/png", "image/jpeg", "image/tiff", "image/webp"),
            {"ocr": Backend("tasks.parse.image:parse_image", ("pillow",))},
        ),
    }
)

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        name: Format(kind.media_types, MappingProxyType({**kind.backends, "outside": OUTSIDE}))
        for name, kind in _PARSED_HERE.items()
    }
)
"""Every format by its name in the settings."""


def chosen_backends(choices: Mapping[str, str]) -> dict[str, str]:
    """A backend for every format: the chosen one, else the default.

    Raises:
        ValueError: a format or a backend that does not exist; the message names those that do.
    """
    for name, backend in choices.items():
        if name not in FORMATS:
            raise ValueError(f"there is no format {name!r}; there are {_names(FORMATS)}")
        if backend not in FORMATS[name].backends:
            raise ValueError(f"there is no parser {backend!r} of {name}; there are {_names(FORMATS[name].backends)}")
    return {name: choices.get(name, kind.default) for name, kind in FORMATS.items()}


def backend_of(media_type: str, choices: Mapping[str, str]) -> Backend:
    """The backend that reads files of a media type.

    Raises:
        DocumentError: `unsupported_type`, `encrypted`.
    """
    for name, kind in FORMATS.items():
        if media_type in kind.media_types:
            return kind.backends[choices[name]]
    if media_type in _REFUSED:
        error_class, cause, remedy = _REFUSED[media_type]
        raise DocumentError(error_class, cause, remedy=remedy)
    raise DocumentError(
        "unsupported_type",
        f"there is no parser for {media_type}; there are parsers for {_names(FORMATS)}",
        remedy="convert the file, or leave its kind out of the source's patterns",
    )


def inner_backend_of(media_type: str, choices: Mapping[str, str]) -> Backend:
    """The backend that reads files of a media type inside another document.

    Another parser's output is of whole documents, so what has to be taken from there is read by the default instead.

    Raises:
        DocumentError: `unsupported_type`, `encrypted`.
    """
    inner = {
        name: FORMATS[name].default if FORMATS[name].backends[choice] == OUTSIDE else choice
        for name, choice in choices.items()
    }
    return backend_of(media_type, inner)


def package_versions(choices: Mapping[str, str]) -> dict[str, str]:
    """The versions of what the chosen backends use; a backend that is not chosen adds nothing.

    Raises:
        ConfigurationError: a chosen backend is not installed.
    """
    found: dict[str, str] = {}
    for name, choice in choices.items():
        backend = FORMATS[name].backends[choice]
        for package in backend.packages:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                brought = f"-e '.[{backend.extra}]', in corpusgate's folder" if backend.extra else package
                others = [other for other in FORMATS[name].backends if other != choice]
                raise ConfigurationError(
                    f"stages.parse.backends: {name} is to be read by {choice}, but {package} is not installed",
                    remedy=f".venv/bin/pip install {brought}"
                    + (f", or choose {_names(others, 'or')}" if others else ""),
                ) from None
        for package in backend.optional:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "none"
    return found


def _names(names: Iterable[str], joint: str = "and") -> str:
    *first, last = names
    return f"{', '.join(first)} {joint} {last}" if first else last
