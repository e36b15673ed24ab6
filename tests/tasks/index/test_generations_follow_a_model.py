"""Whatever is built, promoted, rejected, rolled back and collected, each generation holds exactly its documents."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tasks.index.settings import IndexSettings

from .conftest import Corpus

DOCUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "it's", 'say "x"', "back\\slash", "50%_", "é/ü", "x' OR '1'='1"]),
    st.lists(st.sampled_from(["alpha QX-5518", "beta 10.02 bar", "gamma", "delta"]), min_size=1, max_size=3),
    max_size=6,
)


class Machine(RuleBasedStateMachine):
    """Drives an index and a plain list of dictionaries side by side."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        # Small limits, so that merging, compaction and collection take part.
        self.corpus = Corpus(Path(self._folder.name), IndexSettings(merge_after=2, compact_after=2))
        self.standing: list[dict[str, list[str]]] = []
        self.runs = 0
        self.candidate: Any = None
        self.candidate_texts: dict[str, list[str]] = {}

    @initialize(texts=DOCUMENTS)
    def start(self, texts: dict[str, list[str]]) -> None:
        self.build(texts)
        self.promote()

    @rule(texts=DOCUMENTS)
    def build(self, texts: dict[str, list[str]]) -> None:
        self.runs += 1
        self.candidate = self.corpus.build(f"run-{self.runs}", texts)
        self.candidate_texts = texts
        assert self.candidate.rows == sum(map(len, texts.values()))

    @precondition(lambda self: self.candidate)
    @rule()
    def promote(self) -> None:
        self.corpus.promote(self.candidate)
        self.standing.append(self.candidate_texts)
        self.candidate = None

    @precondition(lambda self: self.candidate)
    @rule()
    def reject(self) -> None:
        self.corpus.index.drop(self.candidate.generation)
        self.candidate = None

    @precondition(lambda self: len(self.standing) > 1)
    @rule()
    def roll_back(self) -> None:
        live = self.corpus.index.live()
        assert live is not None
        self.corpus.index.rollback(expected=live)
        self.standing.pop()
        self.candidate = None

    @rule(keep=st.integers(1, 3))
    def collect(self, keep: int) -> None:
        self.corpus.index.collect(keep)
        self.standing = self.standing[-keep:]

    @invariant()
    def live_is_the_last_that_stands(self) -> None:
        if self.standing:
            view = self.corpus.index.open_live()
            assert view is not None
            assert self.corpus.texts(view) == self.standing[-1]
            expected = {d for d, texts in self.standing[-1].items() if "alpha QX-5518" in texts}
            assert {c.split("/text/")[0] for c, _ in view.search_text("QX-5518", 50)} == expected

    @invariant()
    def candidate_holds_its_own(self) -> None:
        if self.candidate:
            assert self.corpus.texts(self.corpus.index.open(self.candidate.generation)) == self.candidate_texts

    def teardown(self) -> None:
        self._folder.cleanup()


TestGenerations = Machine.TestCase
TestGenerations.settings = settings(max_examples=8, stateful_step_count=14, suppress_health_check=list(HealthCheck))
