"""Readers see one generation, whole, whatever is promoted, rolled back or collected meanwhile."""

import itertools
import subprocess
import sys
import threading
from pathlib import Path

from .conftest import Corpus

GRACE_SECONDS = 10.0
"""Longer than a reader needs for one generation on a busy machine."""

READER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from conftest import Corpus

corpus, stop, reads = Corpus(Path(sys.argv[2])), Path(sys.argv[3]), 0
print("ready", flush=True)
while not stop.exists() or reads < 5:
    view = corpus.index.open_live()
    texts = {t for parts in corpus.texts(view).values() for t in parts}
    assert len(texts) == 1 and view.count() == 30, texts
    marker = texts.pop().split()[-1]
    assert len(view.search_text(marker, 100)) == 30
    assert len(view.search_vector(corpus.vector("x"), 30, exact=False)) == 30
    reads += 1
    print(reads, flush=True)
"""


def everything(n: int) -> dict[str, list[str]]:
    """All documents of generation `n`: each of them says so."""
    return {f"d{i}": [f"generation marker{n}"] * 3 for i in range(10)}


def test_no_empty_mixed_or_failed_answer(corpus: Corpus, tmp_path: Path) -> None:
    corpus.publish("r0", everything(0))
    stop = tmp_path / "stop"
    other = subprocess.Popen(
        [sys.executable, "-c", READER, str(Path(__file__).parent), str(corpus.root), str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stderr is not None
    assert other.stdout.readline() == "ready\n"
    wrong: list[object] = []
    seen: list[set[str]] = []
    elsewhere: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                view = corpus.index.open_live()
                texts = {text for parts in corpus.texts(view).values() for text in parts}
                assert view is not None
                hits = view.search_text(next(iter(texts)).split()[-1], 100)
                if len(texts) != 1 or view.count() != 30 or len(hits) != 30:
                    wrong.append((texts, view.count(), len(hits)))
                seen.append(texts)
            except Exception as error:  # noqa: BLE001 - any failure of a reader is what this test looks for
                wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    counted = threading.Thread(target=lambda: elsewhere.extend(other.stdout))
    counted.start()
    # Until the other process has read often enough, however slow the machine is.
    for n in itertools.takewhile(lambda n: n < 7 or len(elsewhere) < 5, range(1, 100)):
        live = corpus.publish(f"r{n}", everything(n))
        if n % 3 == 0:
            corpus.index.rollback(expected=live)
        corpus.index.collect(2, grace_seconds=GRACE_SECONDS)
    done.set()
    stop.touch()
    for thread in threads:
        thread.join()
    counted.join()
    assert other.wait() == 0, other.stderr.read()
    assert wrong == []
    assert len({text for texts in seen for text in texts}) > 1
    assert len(elsewhere) >= 5
