"""The engine in a process that kills itself with SIGKILL at a seam: `killed_at_a_seam.py FOLDER SEAM WHEN COUNT`.

Every file of a lake is moved into place, so a seam is the COUNT-th such move to a path that fits the glob SEAM (below
the lake), `before` or `after`. What LanceDB writes by itself is named by the step that writes it: `build`, `collect`.
"""

import itertools
import os
import signal
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))


def fatal(step: Callable[..., Any], when: str, count: int, fits: Callable[..., bool]) -> Callable[..., Any]:
    """The step with the kill in it."""
    numbers = itertools.count(1)

    def stepped(*arguments: Any, **named: Any) -> Any:
        here = fits(*arguments) and next(numbers) == count
        if here and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        made = step(*arguments, **named)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    return stepped


if __name__ == "__main__":
    from tasks.index.store import LanceIndex
    from tests.engine import run_engine
    from tests.texts import configured

    folder, seam, when, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    if seam in ("build", "collect"):
        setattr(LanceIndex, seam, fatal(getattr(LanceIndex, seam), when, count, lambda *_: True))
    else:
        lake = folder / "lake"

        def fits(_: Path, target: Path) -> bool:
            return target.is_relative_to(lake) and fnmatch(target.relative_to(lake).as_posix(), seam)

        Path.replace = fatal(Path.replace, when, count, fits)  # type: ignore[method-assign]
    run_engine(configured(folder))
    raise SystemExit(f"the seam {seam} was reached less than {count} times")
