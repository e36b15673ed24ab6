"""Telling personal data from its look-alikes: part numbers, dates, versions, log lines, words that are no names."""

import ipaddress
import re

from tasks.pii.detection import Find

_PHONE_WORD = re.compile(
    r"\b(?:tele?phone|phones?|tel|mobile|mob|cell(?:phone)?|call(?:ing)?|fax|dial|ring|whatsapp|sms|texts?|contact|"
    r"hotline|helpline|reach(?:ed)?|telefon\w*|handy|mobil|rufnummer|t[ée]l|t[ée]l[ée]phone|portable|m[óo]vil|"
    r"tel[ée]fono|telefone|celular|cellulare)\b",
    re.IGNORECASE,
)
_OTHER_NUMBER = re.compile(
    r"\b(?:part|order|serial|invoice|ticket|case|item|article|product|model|batch|lot|isbn|issn|ean|upc|sku|doi|"
    r"account|ref(?:erence)?|id|version|build|tracking|patent|policy|contract|drawing|file|record|error|code|pid)"
    r"(?:\s+(?:no|number|nr|code|id))?\W{0,3}\Z",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|3[01])|"
    r"(?:[0-2]?\d|3[01])[-/.](?:[0-2]?\d|3[01])[-/.](?:19|20)\d\d)(?!\d)"
)
_NORTH_AMERICAN = re.compile(r"(?:1[-. ])?(?:\(\d{3}\)|\d{3}[-. ])[-. ]?\d{3}[-. ]\d{4}(?:\s*(?:x|ext\.?)\s*\d+)?\Z")
_SOCIAL_SECURITY = re.compile(r"\d{3}-\d{2}-\d{4}\Z")
_GLUED_BEFORE = re.compile(r"(?:[\w@#/\\_-]|\d[.,:])\Z")
_GLUED_AFTER = re.compile(r"[\w@\\_]|[-.,:/]\d")
_VERSION_WORD = re.compile(
    r"(?:\bv(?:er(?:sion)?)?\.?|\brelease|\bbuild|\bsection|\bclause|\bchapter|\bfirmware|\brev(?:ision)?\.?|§)\s*\Z",
    re.IGNORECASE,
)
_NHS_WORD = re.compile(r"\b(?:nhs|patient|health|hospital|gp)\b", re.IGNORECASE)
_NO_NAME = re.compile(r"[\d@#$%^*_=+<>|\\{}\[\]~/]")
_FIELD_NAMES = frozenset(
    {
        "tel",
        "fax",
        "phone",
        "telephone",
        "mobile",
        "cell",
        "email",
        "e-mail",
        "mail",
        "web",
        "website",
        "address",
        "name",
    }
    | {"dear", "mr", "mrs", "ms", "miss", "dr", "prof", "sir", "madam", "re", "cc", "attn", "hello", "hi", "regards"}
    | {"note", "table", "figure", "fig", "page", "section", "chapter", "appendix", "step", "yes", "no", "ok", "todo"}
)
_ABBREVIATION = re.compile(r"\b(?:API|AI|JSON|XML|HTML|HTTPS?|URL|SQL|PDF|CSV|SDK|CLI|CSS|SLA|FAQ|GPU|CPU|USB|VPN)s?\b")
_STREET = re.compile(r"\w[ ]+(?:road|rd|street|avenue|ave|boulevard|blvd|highway|crescent)\b", re.IGNORECASE)
_STREET_AFTER_NUMBER = re.compile(
    r"\w[\w'’.-]*\s+(?:lane|drive|court|close|way|gate|row|walk|square|place|terrace|park|green|hill|steps|mews|rise|"
    r"grove|gardens|parade|quay|wharf|alley|yard)\Z",
    re.IGNORECASE,
)
_STREET_BEFORE_NUMBER = re.compile(
    r"\w[\w'’.-]*\s+(?:drive|gate|row|square|terrace|steps|mews|grove|parade|quay|wharf|alley|yard)\Z", re.IGNORECASE
)
_HOUSE_BEFORE = re.compile(r"(?:\A|[\s,;:(])\d{1,4}[a-z]?,?[ ]\Z", re.IGNORECASE)
_HOUSE_AFTER = re.compile(r"[ ]\d")
_JOINED_WORDS = re.compile(r"(?!Fitz)[^\W\d_]{3}[a-z][A-Z]")
_LINE = re.compile(r"[^\n\t\r]+")
_NAME_CORE = re.compile(r"\w(?:.*?\w)?\.?(?=(?:['\u2019]s)?\W*\Z)")


def settle(text: str, find: Find) -> list[Find]:
    """What remains of a find: nothing where it looks like something else, else itself, names cut to their words.

    A name ends with its line or table cell, and its possessive ending and quotation marks are no part of it.

    >>> settle("by Ann Lee's\\nBob", Find(3, 16, "PERSON", 0.85))
    [Find(start=3, end=10, type='PERSON', score=0.85), Find(start=13, end=16, type='PERSON', score=0.85)]
    """
    if find.type != "PERSON":
        return [find] if plausible(text, find) else []
    pieces = (
        Find(find.start + piece.start(), find.start + piece.end(), find.type, find.score)
        for line in _LINE.finditer(text[find.start : find.end])
        for piece in [_NAME_CORE.search(line.string, line.start(), line.end())]
        if piece is not None
    )
    return [piece for piece in pieces if plausible(text, piece)]


def plausible(text: str, find: Find) -> bool:
    """Whether a find can be what its type says, by its own form and what stands around it."""
    value = text[find.start : find.end]
    before = text[max(0, find.start - 48) : find.start]
    after = text[find.end : find.end + 2]
    if find.type == "PERSON":
        return _name(value) and not _street(text, find, before, after)
    if find.type == "PHONE_NUMBER":
        return _phone(value, before, after)
    if find.type == "IP_ADDRESS":
        return _address(value, before)
    if find.type == "MAC_ADDRESS":
        return (
            bool(re.search("[A-Fa-f]", value))
            and not re.search(r"[0-9a-fA-F][:-]\Z", before)
            and not re.match(r"[:-][0-9a-fA-F]", after)
        )
    if find.type == "UK_NHS":
        return not _glued(before, after) and (not value.isdigit() or _NHS_WORD.search(before) is not None)
    if find.type in {"US_SSN", "US_ITIN", "US_PASSPORT", "CREDIT_CARD"}:
        return not _glued(before, after)
    return True


def _glued(before: str, after: str) -> bool:
    """Whether the value is a part of something longer: a GUID, a path, a code, a decimal."""
    return bool(_GLUED_BEFORE.search(before) or _GLUED_AFTER.match(after))


def _name(value: str) -> bool:
    """A name has letters only; a single word has a capital and is no abbreviation."""
    if _NO_NAME.search(value) or _ABBREVIATION.search(value) or _JOINED_WORDS.search(value):
        return False
    if len(value.split()) > 1:
        return True
    alone = value.strip(".").casefold()
    return len(alone) > 1 and alone not in _FIELD_NAMES and not value.isupper() and value[0].isupper()


def _street(text: str, find: Find, before: str, after: str) -> bool:
    """Whether the words name a street; where the last may be a surname (Lane, Hill), a house number must show it."""
    value = text[find.start : find.end]
    if _STREET.search(value) or _STREET.match(text, find.end - 1):
        return True
    if _HOUSE_BEFORE.search(before):
        return _STREET_AFTER_NUMBER.search(value) is not None
    return _HOUSE_AFTER.match(after) is not None and _STREET_BEFORE_NUMBER.search(value) is not None


def _phone(value: str, before: str, after: str) -> bool:
    digits = sum(c.isdigit() for c in value)
    if not 7 <= digits <= 20 or _glued(before, after) or _DATE.search(value) or _SOCIAL_SECURITY.match(value):
        return False
    if value.startswith("+") or before.endswith("+"):
        return True
    if _PHONE_WORD.search(before):
        return True
    if value.isdigit() or _OTHER_NUMBER.search(before):
        return False
    return _NORTH_AMERICAN.match(value) is not None or value.startswith(("0", "(0"))


def _address(value: str, before: str) -> bool:
    """Not a version, and not an address that belongs to no one (loopback, unspecified, net masks)."""
    try:
        address = ipaddress.ip_address(value.split("/")[0].split("%")[0].strip("[]"))
    except ValueError:
        return False
    if address.version == 4:
        return not (
            _VERSION_WORD.search(before) or address.is_loopback or address.is_unspecified or value.startswith("255.")
        )
    return value.count(":") >= 3 and any(c.isdigit() for c in value)
