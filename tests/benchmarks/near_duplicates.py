"""Near duplicates and containment on public sets with known pairs, and the cost of looking for containment.

python -m tests.benchmarks.near_duplicates DATA      DATA holds mccormick-articles/ and textreuse/
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.dedup.decisions import decide
from tasks.dedup.settings import DedupSettings
from tests.tasks.dedup.test_duplicate_decisions import sign


def main() -> None:
    """Prints merges, precision and recall of pairs, and seconds of CPU."""
    data = Path(sys.argv[1])
    _decided({"warm": "the same text for ever"})
    for size in (100, 1000, 2500):
        folder = data / "mccormick-articles"
        lines = (folder / f"articles_{size}.train").read_text(encoding="utf-8").splitlines()
        texts = dict(line.split(" ", 1) for line in lines)
        pairs = (folder / f"articles_{size}.truth").read_text().splitlines()
        _report(f"articles, {size}", texts, {frozenset(line.split()) for line in pairs if line.strip()})
    folder = data / "textreuse" / "legal"
    codes = {file.stem: file.read_text(encoding="utf-8-sig") for file in sorted(folder.glob("*.txt"))}
    pair = {frozenset(("ca1851-match", "ny1850-match"))}
    _report("legal codes", codes, pair)
    _report("legal codes, threshold 0.5", codes, pair, threshold=0.5, bands=64)
    _report("legal codes, threshold 0.5, any fact", codes, pair, threshold=0.5, bands=64, protect_facts=False)


def _report(name: str, texts: Mapping[str, str], truth: set[frozenset[str]], **about: Any) -> None:
    rows, signing, deciding = _decided(texts, **about)
    without = _decided(texts, **about, on_containment="keep")[2]
    merged = {frozenset((row["document_id"], row["duplicate_of"])) for row in rows if row["duplicate_of"]}
    right = len(merged & truth)
    precision = f"{right / len(merged):.3f}" if merged else "-"
    print(
        f"{name:38} pairs {len(truth):3}  merged {len(merged):3}  false {len(merged - truth)}"
        f"  missed {len(truth - merged)}"
        f"  P {precision}  R {right / len(truth):.3f}  contained {sum(row['contained_in'] is not None for row in rows)}"
        f"  CPU s: signing {signing:.2f}, deciding {deciding:.2f} (without containment {without:.2f})"
    )


def _decided(texts: Mapping[str, str], **about: Any) -> tuple[list[dict[str, Any]], float, float]:
    settings = DedupSettings(**about)
    started = time.process_time()
    signatures = sign(texts, settings, {})
    signed = time.process_time()
    rows = decide([signatures], lambda ids: {d: texts[d] for d in ids}, settings).to_pylist()
    return rows, signed - started, time.process_time() - signed


if __name__ == "__main__":
    main()
