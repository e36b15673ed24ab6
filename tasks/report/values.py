"""Figures and foreign names as people read them."""

import json
import re
import unicodedata
from datetime import datetime
from typing import Any

NOTHING = "–"
"""What stands where there is no value; never a 0, which would be a value."""

_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories of what is not seen where it stands: controls, formats, private use, separators of lines."""


_FORMULA = tuple("=+-@＝＋－＠")
"""What a spreadsheet takes for the beginning of a formula, full width included."""


def shown_value(value: float | None, unit: str = "ratio") -> str:
    """A value in its unit.

    >>> shown_value(0.98765), shown_value(None), shown_value(12345.0, "count"), shown_value(0.00042)
    ('0.988', '–', '12,345', '0.0004')
    >>> shown_value(93.25, "seconds"), shown_value(2_500_000, "bytes"), shown_value(1.0), shown_value(0.99987)
    ('93.2 s', '2.5 MB', '1', '0.9999')
    >>> shown_value(0.0421, "seconds"), shown_value(7200.0, "seconds"), shown_value(0.00002, "seconds")
    ('42 ms', '2.0 h', '<1 ms')
    """
    if value is None:
        return NOTHING
    if unit == "seconds":
        return _seconds(value)
    if unit == "bytes":
        return _bytes(value)
    if unit in ("count", "characters", "tokens"):
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return _ratio(value)


def shown_interval(low: float | None, high: float | None, unit: str = "ratio") -> str:
    """A 95 % interval, or the empty string for a census figure, which has none.

    >>> shown_interval(0.9, 0.9512), shown_interval(None, None)
    ('0.9 to 0.951', '')
    """
    return "" if low is None or high is None else f"{shown_value(low, unit)} to {shown_value(high, unit)}"


def shown_difference(value: float | None, baseline: float | None, unit: str = "ratio") -> str:
    """How far a value is from its baseline, with a sign; empty where one of them is missing.

    >>> shown_difference(0.9, 0.95), shown_difference(0.5, 0.5), shown_difference(None, 1.0)
    ('-0.05', '±0', '')
    """
    if value is None or baseline is None:
        return ""
    difference = value - baseline
    if abs(difference) < 1e-9:
        return "±0"
    return ("+" if difference > 0 else "-") + shown_value(abs(difference), unit)


def shown_time(value: str | None) -> str:
    """A manifest's time to the second, in UTC.

    >>> shown_time("2026-11-30T02:15:00.123456+00:00"), shown_time(None)
    ('2026-11-30 02:15:00 UTC', '–')
    """
    return NOTHING if value is None else f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M:%S} UTC"


def plain_text(text: str) -> str:
    """A name or message of foreign origin on one line, with nothing in it that a terminal or a page would obey.

    Control characters and invisible or direction-changing ones are written out, so that a file name can neither
    colour a terminal nor read differently from what it is.

    >>> plain_text("a\\x1b[31mb\\u202egnp.exe"), plain_text("two\\n lines")
    ('a\\\\x1b[31mb\\\\u202egnp.exe', 'two lines')
    """
    return _seen(re.sub(r"\s+", " ", text))


def plain_lines(text: str) -> str:
    """`plain_text` of a message of several lines, which stay lines and keep their indentation.

    >>> plain_lines("two:\\n  a\\x1b[2Jb")
    'two:\\n  a\\\\x1b[2Jb'
    """
    return "\n".join(_seen(line) for line in text.split("\n"))


def spreadsheet_text(text: str) -> str:
    """A text of foreign origin for a cell of CSV: no spreadsheet takes it for a formula, and no terminal obeys it.

    What begins like a formula gets an apostrophe before it, as OWASP advises; line ends and tabs within stay. JSON and
    Parquet give texts as they are.

    >>> spreadsheet_text("=HYPERLINK(1)"), spreadsheet_text("\\t@SUM(1)"), spreadsheet_text("a = b")
    ("'=HYPERLINK(1)", "'\\t@SUM(1)", 'a = b')
    """
    shown = _seen(text, "\n\t")
    return f"'{shown}" if shown.lstrip()[:1] in _FORMULA else shown


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """JSON for machines, in which nothing stands that a terminal would obey: the escapes are JSON's own.

    >>> json_text({"name": "é\\x9b31m\\u202e"}, indent=None)
    '{"name": "é\\\\u009b31m\\\\u202e"}'
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return "".join(
        json.dumps(character)[1:-1] if character != "\n" and unicodedata.category(character) in _UNSEEN else character
        for character in text
    )


def _seen(text: str, kept: str = "") -> str:
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character not in kept and unicodedata.category(character) in _UNSEEN
        else character
        for character in text
    )


def markdown_text(text: str) -> str:
    """A text of foreign origin for Markdown, in a table's cell too: it shows as it is and starts no markup.

    >>> markdown_text("a|b `c` <script> [x](y) snake_case _d_")
    'a\\\\|b \\\\`c\\\\` &lt;script&gt; \\\\[x\\\\](y) snake_case \\\\_d\\\\_'
    """
    escaped = plain_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = re.sub(r"([\\\\`*|\[\]~#])", r"\\\1", escaped)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\_", escaped)


def _ratio(value: float) -> str:
    # A figure that is nearly, but not quite, 0 or 1 must not be rounded into it: the rule may hang on the difference.
    for digits in (3, 4, 5, 6):
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        if (text not in ("0", "-0") or value == 0) and (text != "1" or value == 1):
            return text
    return f"{value:.2g}" if abs(value) < 0.5 else f"{value:.9f}".rstrip("0").rstrip(".")


def _seconds(value: float) -> str:
    if abs(value) >= 172_800:
        return f"{value / 86_400:.1f} days"
    if abs(value) >= 7_200:
        return f"{value / 3_600:.1f} h"
    if abs(value) >= 10:
        return f"{value:.1f} s"
    if abs(value) >= 1 or value == 0:
        return f"{value:.3g} s"
    return f"{value * 1000:.0f} ms" if abs(value) >= 0.001 else "<1 ms"


def _bytes(value: float) -> str:
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= size:
            return f"{value / size:.1f} {name}"
    return f"{value:.0f} B"
