"""Sentences by language: one file per language, one sentence per line, named after an ISO 639 code.

Reads lingua's test data (`sentences/de.txt`) and FLORES v1 (`ne.txt`, and `ne-en.en.txt`, its English side).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.gold.importers.data_set import BadRow, DataSet, MadeDocument
from tasks.gold.importers.rows import text_lines

_PER_DOCUMENT = 10
_CODE = 3


def read(folder: Path) -> DataSet:
    """Texts `<file>-<n>.txt` of ten sentences each with their language.

    Of a data set that also has words, only the folder `sentences` is read.
    """
    bad: list[BadRow] = []
    folder = folder / "sentences" if (folder / "sentences").is_dir() else folder
    paths = [(path, code) for path in sorted(folder.glob("*.txt")) if (code := _language(path.name))]
    return DataSet(tuple(document for path, code in paths for document in _documents(path, code, bad)), tuple(bad))


def _language(name: str) -> str | None:
    """The last code of a file's name.

    >>> _language("de.txt"), _language("ne-en.en.txt"), _language("LICENSE.txt")
    ('de', 'en', None)
    """
    code = name.removesuffix(".txt").rsplit(".", 1)[-1]
    return code if code.isalpha() and code.islower() and 1 < len(code) <= _CODE else None


def _documents(path: Path, language: str, bad: list[BadRow]) -> Iterator[MadeDocument]:
    lines = [stripped for _, line in text_lines(path, bad) if (stripped := line.strip())]
    label: dict[str, Any] = {"language": language}
    for number, start in enumerate(range(0, len(lines), _PER_DOCUMENT)):
        text = "\n\n".join(lines[start : start + _PER_DOCUMENT])
        name = path.name.removesuffix(".txt").replace(".", "-")
        yield MadeDocument(f"{name}-{number:03}.txt", f"{text}\n".encode(), {"language": label})
