"""File names for documents that a data set knows by an id."""

from urllib.parse import quote


def file_name(document_id: str) -> str:
    """The id as a name that every file system takes and that no two ids share.

    >>> file_name("FT911-3"), file_name("../a b"), file_name(".")
    ('FT911-3', '%2E.%2Fa%20b', '%2E')
    """
    name = quote(document_id, safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name
