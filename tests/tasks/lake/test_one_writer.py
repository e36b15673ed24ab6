"""One run at a time writes a lake: the second is refused with what to do, or waits as long as it was told."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tasks.errors import RunError
from tasks.lake.layout import Lake

HOLDER = """
import os, sys, time
from pathlib import Path
from tasks.lake.layout import Lake
with Lake(Path(sys.argv[1])).exclusive():
    print("held", flush=True)
    sys.stdin.read()
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("ends", ["by itself", "killed"])
def test_the_second_is_refused_or_waits(tmp_path: Path, ends: str) -> None:
    lake = Lake(tmp_path / "lake")
    lake.create()
    command = [sys.executable, "-c", HOLDER, str(lake.root), ends]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RunError, match="another run is writing the lake") as caught, lake.exclusive():
        pass
    assert "--wait" in caught.value.remedy
    releasing = threading.Timer(0.2, holder.stdin.close)
    releasing.start()
    with lake.exclusive(600):
        assert not releasing.is_alive() or holder.stdin.closed
    releasing.join()
    assert holder.wait() == (-9 if ends == "killed" else 0)
