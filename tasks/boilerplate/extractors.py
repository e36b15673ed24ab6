"""The extractors of main text that can be chosen: each one from a page to the text it takes for the content.

Which of the parsed elements stay is decided by one alignment, whatever the extractor (`tasks.boilerplate.web`).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import trafilatura

from tasks.boilerplate.settings import BoilerplateSettings

_STOPLISTS = MappingProxyType(
    {
        "af": "Afrikaans",
        "bg": "Bulgarian",
        "ca": "Catalan",
        "cs": "Czech",
        "da": "Danish",
        "de": "German",
        "el": "Greek",
        "en": "English",
        "es": "Spanish",
        "et": "Estonian",
        "fi": "Finnish",
        "fr": "French",
        "hr": "Croatian",
        "hu": "Hungarian",
        "id": "Indonesian",
        "it": "Italian",
        "lt": "Lithuanian",
        "lv": "Latvian",
        "nb": "Norwegian_Bokmal",
        "nl": "Dutch",
        "nn": "Norwegian_Nynorsk",
        "no": "Norwegian_Bokmal",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sk": "Slovak",
        "sl": "Slovenian",
        "sv": "Swedish",
        "tr": "Turkish",
        "uk": "Ukrainian",
    }
)
"""justext's lists of frequent words by the language that a page declares."""


def extract(html: str, tree: Any, settings: BoilerplateSettings) -> str:
    """The main text of a page by the extractor of the settings; empty where it finds none. `tree` is the page by lxml.

    The tree belongs to the extractor: it may change it.
    """
    return _EXTRACTORS[settings.extractor](html, tree, settings)


def _by_trafilatura(html: str, tree: Any, settings: BoilerplateSettings) -> str:
    found = trafilatura.extract(
        tree,
        fast=settings.fast,
        favor_precision=settings.favor == "precision",
        favor_recall=settings.favor == "recall",
        include_comments=settings.include_comments,
        include_tables=settings.include_tables,
    )
    return found or ""


def _by_resiliparse(html: str, tree: Any, settings: BoilerplateSettings) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    found: str = extract_plain_text(
        html,
        main_content=True,
        list_bullets=False,
        alt_texts=False,
        comments=settings.include_comments,
        skip_elements=None if settings.include_tables else ["table"],
    )
    return found


def _by_justext(html: str, tree: Any, settings: BoilerplateSettings) -> str:
    """A page that declares a language without a list is judged by lengths and links alone; one that declares none is
    taken for English, as its makers do.
    """
    import justext
    from lxml.etree import ParserError

    declared = (tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or "en").lower()
    name = _STOPLISTS.get(declared.replace("_", "-").split("-", 1)[0])
    shares = {} if name else {"stopwords_low": 0, "stopwords_high": 0}
    try:
        paragraphs = justext.justext(html, justext.get_stoplist(name) if name else frozenset(), **shares)
    except ParserError:  # its cleaned page has no root left
        return ""
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


_EXTRACTORS: Mapping[str, Callable[[str, Any, BoilerplateSettings], str]] = MappingProxyType(
    {"trafilatura": _by_trafilatura, "resiliparse": _by_resiliparse, "justext": _by_justext}
)
