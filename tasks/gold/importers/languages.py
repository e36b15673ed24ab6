"""Sentences by language: one file per language, one sentence per line, named after an ISO 639 code.

Reads lingua's test data (`sentences/de.txt`) and FLORES v1 (`ne.txt`, and `ne-en.en.txt`, its English side).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.errors import ConfigurationError
from tasks.gold.importers.made_corpus import MadeDocument, write_corpus
from tasks.gold.importers.summary import ImportSummary

SOURCE = "languages"
_PER_DOCUMENT = 10
_CODE = 3


def import_folder(source_folder: Path, out_folder: Path) -> ImportSummary:
    """Writes ten sentences per document to `corpus/<file>-<n>.txt`, and labels to `gold/`.

    Of a data set that also has words, only the folder `sentences` is read.

    Raises:
        ConfigurationError: no file below the folder is named after a language.
    """
    folder = source_folder / "sentences" if (source_folder / "sentences").is_dir() else source_folder
    paths = [(path, code) for path in sorted(folder.glob("*.txt")) if (code := _language(path.name))]
    if not paths:
        raise ConfigurationError(
            f"{folder} holds no file named after a language, such as de.txt", remedy="name the folder of such files"
        )
    return write_corpus(
        out_folder,
        SOURCE,
        (document for path, code in paths for document in _documents(path, code)),
        description="Sentences by language.",
        licence="as the data set's publisher says",
    )


def _language(name: str) -> str | None:
    """The last code of a file's name.

    >>> _language("de.txt"), _language("ne-en.en.txt"), _language("LICENSE.txt")
    ('de', 'en', None)
    """
    code = name.removesuffix(".txt").rsplit(".", 1)[-1]
    return code if code.isalpha() and code.islower() and 1 < len(code) <= _CODE else None


def _documents(path: Path, language: str) -> Iterator[MadeDocument]:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    label: dict[str, Any] = {"language": language}
    for number, start in enumerate(range(0, len(lines), _PER_DOCUMENT)):
        text = "\n\n".join(lines[start : start + _PER_DOCUMENT])
        name = path.name.removesuffix(".txt").replace(".", "-")
        yield MadeDocument(f"{name}-{number:03}.txt", f"{text}\n".encode(), {"language": label})
