"""What is an attachment of a message, and what it is called: the same for the parser and for the second reader."""

from collections import Counter

_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})
_RESOURCES = (
    "image/",
    "font/",
    "audio/",
    "video/",
    "text/css",
    "text/html",
    "text/javascript",
    "application/javascript",
)
"""Beside the main part of a `multipart/related`, these dress it and are no documents."""


def is_attachment(media_type: str, disposition: str | None, *, has_content_id: bool, related: bool) -> bool:
    """Whether a leaf that is no body text is an attachment: not a signature, nor an image that the text shows.

    >>> is_attachment("image/png", "inline", has_content_id=True, related=False)
    False
    >>> is_attachment("application/pdf", None, has_content_id=True, related=True)
    True
    """
    if media_type in _SIGNATURES:
        return False
    if disposition == "attachment":
        return not (related and media_type.startswith(_RESOURCES))
    if related:
        return not media_type.startswith(_RESOURCES)
    return not (media_type.startswith("image/") and (disposition == "inline" or has_content_id))


class PartNames:
    """Gives the attachments of one message names that differ.

    >>> names = PartNames()
    >>> [names.of("plan.pdf"), names.of("plan.pdf"), names.of(" "), names.of("a/b.txt")]
    ['plan.pdf', 'plan.pdf (2)', 'attachment', 'a/b.txt']
    """

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def of(self, stated: str | None) -> str:
        """The stated name in one line, numbered where an earlier one is the same."""
        name = " ".join((stated or "").split()) or "attachment"
        self._given[name] += 1
        return name if self._given[name] == 1 else f"{name} ({self._given[name]})"
