"""A process that finds no folder for compiled code: not beside the module, and not in the user's cache."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_without_cache(code: str, modules: Iterable[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python code over copies of these modules (paths in the project), where nothing compiled can be kept."""
    for name in modules:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
        # A file where the folder would be: not to be written to, whoever runs this.
        (folder / name).with_name("__pycache__").touch()
    (folder / "home").touch()
    home = str(folder / "home")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "PYTHON"))} | {
        "HOME": home,
        "XDG_CACHE_HOME": home,
        "LOCALAPPDATA": home,
        "PYTHONPATH": str(folder),
    }
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
