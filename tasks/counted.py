"""Numbers of things in sentences."""


def counted(number: int, one: str) -> str:
    """So many of something, by the word for one of it.

    >>> counted(1, "document"), counted(0, "document"), counted(12, "new and changed document")
    ('1 document', '0 documents', '12 new and changed documents')
    """
    return f"{number} {one}{'' if number == 1 else 's'}"
