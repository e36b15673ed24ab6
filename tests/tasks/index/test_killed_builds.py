"""A writer killed at any seam leaves live as it was, and the next build works and holds nothing of the killed one."""

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Corpus

SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from conftest import Corpus
import tasks.index.generations as generations
import tasks.index.store as store
import tasks.index.table_folder as table_folder

where, when = sys.argv[3], sys.argv[4]
owner, name = {
    "create": (store, "create_table"), "restore": (table_folder.TableFolder, "restore"),
    "insert": (store, "insert_rows"), "index": (store, "extend_indexes"), "tag": (table_folder, "set_tag"),
    "flush": (store, "flush_written"), "rename": (generations, "write_json"), "sync": (generations, "sync_folder"),
    "clean": (table_folder, "delete_untagged"),
}[where]
original = getattr(owner, name)

def seam(*arguments, **named):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    made = original(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
    return made

corpus = Corpus(Path(sys.argv[2]))
texts = {"a": ["changed by the killed run"], "k": ["killed QX-1"]}
if where == "create":
    corpus.model = "hashing@2"
if where != "clean":
    setattr(owner, name, seam)
candidate = corpus.build("killed", texts)
if where == "clean":
    corpus.index.drop(candidate.generation)
    setattr(owner, name, seam)
    corpus.index.collect(1)
corpus.promote(candidate)
raise SystemExit("the seam was never reached")
"""

BEFORE_LIVE = [
    ("create", "before"),
    ("create", "after"),
    ("restore", "after"),
    ("insert", "before"),
    ("insert", "after"),
    ("index", "after"),
    ("tag", "after"),
    ("flush", "after"),
    ("clean", "before"),
    ("clean", "after"),
    ("rename", "before"),
]


def killed(root: Path, where: str, when: str) -> None:
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, folder, str(root), where, when], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9, done.stderr


def contents(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize(("where", "when"), BEFORE_LIVE)
def test_killed_before_the_flip(corpus: Corpus, where: str, when: str) -> None:
    corpus.publish("r0", {"z": ["older"]})
    live = corpus.publish("r1", {"a": ["one"], "b": ["two"]})
    killed(corpus.root, where, when)
    assert corpus.index.live() == live
    assert corpus.texts(corpus.index.open_live()) == {"a": ["one"], "b": ["two"]}
    candidate = corpus.build("r2", {"a": ["one"], "c": ["three"]})
    view = corpus.index.open(candidate.generation)
    assert corpus.texts(view) == {"a": ["one"], "c": ["three"]}
    assert view.search_text("QX-1", 10) == []
    # Half-built ones go with the next build. Whole ones could still be judged, and dropped ones wait for `collect`.
    if where in ("create", "restore", "insert", "index"):
        assert b"killed QX-1" not in contents(corpus.root)
    corpus.promote(candidate)
    corpus.index.collect(1)
    assert corpus.texts(corpus.index.open_live()) == {"a": ["one"], "c": ["three"]}
    assert b"killed QX-1" not in contents(corpus.root)
    assert len(list(corpus.root.glob("*.lance"))) == 1


@pytest.mark.parametrize(("where", "when"), [("rename", "after"), ("sync", "before"), ("sync", "after")])
def test_killed_after_the_flip(corpus: Corpus, where: str, when: str) -> None:
    one = corpus.publish("r1", {"a": ["one"], "b": ["two"]})
    killed(corpus.root, where, when)
    live = corpus.index.live()
    assert live is not None
    assert live.generation.run_id == "killed"
    assert corpus.texts(corpus.index.open_live()) == {"a": ["changed by the killed run"], "k": ["killed QX-1"]}
    assert corpus.index.rollback(expected=live).generation == one.generation
    assert corpus.texts(corpus.index.open_live()) == {"a": ["one"], "b": ["two"]}
