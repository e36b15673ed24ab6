"""The command line in a process that kills itself with SIGKILL at the n-th file that is moved into place.

Every step of a run ends in such a move, so its number is a seam of the run. Odd numbers kill before the move, even
ones after it.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

_KILL_AT = int(os.environ["KILL_AT_WRITE"])
_replace = Path.replace
_count = itertools.count(1)
_main_process = os.getpid()


def _counted(self: Path, target: str | Path) -> Path:
    fatal = os.getpid() == _main_process and next(_count) == _KILL_AT
    if fatal and _KILL_AT % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    moved = _replace(self, target)
    if fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    return moved


if __name__ == "__main__":
    Path.replace = _counted  # type: ignore[method-assign, assignment]
    from flows.cli import main

    main()
