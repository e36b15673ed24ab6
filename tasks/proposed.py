"""Commands that a reader is told to give. All of them are made here, so that each finds the corpus that it is about.

Code that does not know where a configuration lies (an error, a document's remedy, a finding of the gate) writes a
command between backticks, as if it were the default one; whoever shows the text says which one it is (`addressed`).
"""

import re
import shlex
from pathlib import Path

DEFAULT_CONFIG = Path("corpusgate.yaml")
"""The configuration that a command takes where none is named."""

BY_ARGUMENT = frozenset({"plan", "run", "serve", "watch"})
"""Commands whose first argument is the configuration; others have an option for it."""

OF_NO_CORPUS = frozenset({"demo", "gold", "graph", "init", "schema"})
"""Commands that take no configuration."""

_QUOTED = re.compile(r"`corpusgate ([^`]+)`")


def proposed(words: str, config: Path | None = None) -> str:
    """The command line of these words about the corpus of a configuration (null: the default one).

    >>> proposed("status"), proposed("run --limit 5", Path("my demo/corpusgate.yaml"))
    ('corpusgate status', "corpusgate run 'my demo/corpusgate.yaml' --limit 5")
    >>> proposed("trace doc-1 --run last", Path("demo/corpusgate.yaml")), proposed("init", Path("demo/corpusgate.yaml"))
    ('corpusgate trace doc-1 --run last --config demo/corpusgate.yaml', 'corpusgate init')
    """
    command, _, rest = words.partition(" ")
    if config is None or config == DEFAULT_CONFIG or command in OF_NO_CORPUS:
        return f"corpusgate {words}"
    named = shlex.quote(str(config))
    if command in BY_ARGUMENT:
        return f"corpusgate {command} {named}{' ' + rest if rest else ''}"
    return f"corpusgate {words} --config {named}"


def addressed(text: str, config: Path | None) -> str:
    """A text in which every command between backticks is about the corpus of a configuration.

    >>> addressed("look at `corpusgate status`, then run again", Path("demo/corpusgate.yaml"))
    'look at `corpusgate status --config demo/corpusgate.yaml`, then run again'
    """
    return _QUOTED.sub(lambda found: f"`{proposed(found[1], config)}`", text)
