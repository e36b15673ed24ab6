"""The pinned requirements are whole: they are installed without asking what else is needed."""

import re
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).resolve().parents[2] / "deployments" / "requirements"


def pins(name: str) -> dict[str, str]:
    """Each package's pin with its condition and hashes."""
    entries = re.split(r"\n(?=\S)", (PINS / name).read_text(encoding="utf-8").strip())
    return {re.split(r"==| ", entry)[0]: entry for entry in entries}


def test_an_environment_made_from_the_pins_lacks_nothing() -> None:
    looked = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert looked.returncode == 0, looked.stdout


def test_the_pins_of_the_tests_hold_those_of_the_application() -> None:
    application, tests = pins("core.txt"), pins("test.txt")
    assert len(application) > 200
    assert {name: tests.get(name) for name in application} == application


def test_every_pin_has_hashes() -> None:
    for name in ("pip.txt", "core.txt", "test.txt"):
        assert all("--hash=sha256:" in entry for entry in pins(name).values()), name
