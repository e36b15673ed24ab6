"""Path globs as configurations use them."""

import re
from functools import lru_cache


@lru_cache(maxsize=1024)
def path_glob(pattern: str) -> re.Pattern[str]:
    """A glob as a compiled expression for `fullmatch`: `**` crosses folders, `*` and `?` do not.

    >>> bool(path_glob("a/**/*.pdf").fullmatch("a/b/c/x.pdf")), bool(path_glob("a/*.pdf").fullmatch("a/b/x.pdf"))
    (True, False)
    >>> bool(path_glob("**/*.md").fullmatch("top.md"))
    True
    """
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts), re.DOTALL)
