"""What a run is asked for besides the configuration: a part of the documents, stages to run again, leave to delete."""

from collections.abc import Collection
from dataclasses import dataclass

from schemas.names import StageName
from tasks.globs import path_glob


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run.

    `only` names documents as `SOURCE`, `SOURCE:GLOB` or `GLOB` (over the paths of all sources). It and `limit` make a
    run partial: documents that it does not take in stay as live has them, and nothing is deleted. `force` names stages
    that compute their rows anew whatever the ledger says. `allow_mass_delete` lets a run go on that would take out more
    of a source than `run.max_deleted_share`.
    """

    only: tuple[str, ...] = ()
    limit: int | None = None
    force: frozenset[StageName] = frozenset()
    allow_mass_delete: bool = False

    @property
    def partial(self) -> bool:
        """Whether the run takes in a part of the documents only."""
        return bool(self.only) or self.limit is not None

    def sources(self, names: Collection[str]) -> list[str]:
        """Those of the sources that a document asked for may be in; the others need not be listed.

        >>> RunOptions(only=("site:a/*",)).sources(["site", "shop"]), RunOptions(only=("https://b.org/*",)).sources(["site"])
        (['site'], ['site'])
        """
        named = {text.partition(":")[0] for text in self.only} & set(names)
        everywhere = not self.only or any(text.partition(":")[0] not in named for text in self.only)
        return [name for name in names if everywhere or name in named]

    def selects(self, source: str, uri: str) -> bool:
        """Whether a document is among those asked for.

        >>> options = RunOptions(only=("site", "shop:a/*.md"))
        >>> options.selects("site", "x/y"), options.selects("shop", "a/b.md"), options.selects("shop", "b.md")
        (True, True, False)
        """
        return not self.only or any(_fits(text, source, uri) for text in self.only)


WHOLE = RunOptions()
"""Everything, by the ledger."""


def _fits(text: str, source: str, uri: str) -> bool:
    name, colon, path = text.partition(":")
    if name == source:
        return not colon or path_glob(path).fullmatch(uri) is not None
    return path_glob(text).fullmatch(uri) is not None
