"""After installation nothing talks to anything but loopback, and torch is not imported, by any process of a run."""

from pathlib import Path

import pytest

from tests.flows.corpus import corpusgate, small_corpus

GUARD = """
import atexit, os, socket, sys
_log = os.environ["NETWORK_GUARD_LOG"]
_connect = socket.socket.connect

def _say(line):
    with open(_log, "a") as log:
        log.write(line + chr(10))

def _checked(self, address):
    host = address[0] if isinstance(address, tuple) else "unix"
    if host not in ("unix", "127.0.0.1", "::1", "localhost"):
        _say(f"connect {host}")
        raise OSError(f"blocked: {host}")
    return _connect(self, address)

_resolve = socket.getaddrinfo

def _resolved(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if name not in (None, "", "127.0.0.1", "::1", "localhost", "0.0.0.0"):
        _say(f"resolve {name}")
        raise OSError(f"blocked: {name}")
    return _resolve(host, *rest, **more)

socket.socket.connect = _checked
socket.socket.connect_ex = _checked
socket.getaddrinfo = _resolved
_say("guarded")

def _at_exit():
    if "torch" in sys.modules or "transformers" in sys.modules:
        _say("torch imported")

atexit.register(_at_exit)
"""


@pytest.mark.xdist_group("demo")
def test_a_run_talks_to_loopback_only_and_never_imports_torch(tmp_path: Path) -> None:
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    log = tmp_path / "network.log"
    configuration = small_corpus(tmp_path / "corpus")
    done = corpusgate(
        "run",
        configuration,
        environment={"PYTHONPATH": str(tmp_path / "guard"), "NETWORK_GUARD_LOG": str(log)},
    )
    assert done.returncode == 0, done.stderr
    lines = log.read_text(encoding="utf-8").split("\n")
    assert "guarded" in lines
    assert [line for line in lines if line not in ("guarded", "")] == []
