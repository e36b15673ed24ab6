"""Runs a command that ends with the process that started it, even when that one is killed outright.

Executed by path (`python flows/with_parent.py PARENT_PID command …`), so that it imports nothing but the standard
library. On Linux the kernel does the work: the process asks for SIGKILL at its parent's death and becomes the
command. The signal is sent when the *thread* that started this process ends, so start it from a thread that lives
as long as the command should. Elsewhere it stays, as a watchdog: its standard input is a pipe whose other end the
parent holds and nobody else; when that reads end-of-file, the command is killed.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
PARENT_IS_GONE = 3


def die_with_parent(parent_pid: int) -> None:
    """Asks the kernel to kill this process when its parent's starting thread ends (Linux only).

    A process that stores its data in SQLite or by rename loses nothing that was committed.

    Raises:
        OSError: the kernel refused.
        SystemExit: the parent died before it could be watched.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if os.getppid() != parent_pid:
        raise SystemExit(PARENT_IS_GONE)


def run_watched(command: list[str], parent_pipe: int) -> int:
    """Runs the command until it ends, or until `parent_pipe` reads end-of-file; returns its exit code.

    A command that a signal ended gives 128 + the signal's number, as in a shell.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=False)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())

    def watch() -> None:
        while os.read(parent_pipe, 1):
            pass
        process.kill()

    threading.Thread(target=watch, daemon=True).start()
    code = process.wait()
    return code if code >= 0 else 128 - code


def main(arguments: list[str]) -> int:
    """Runs `arguments[1:]` as a command bound to the process with the id `arguments[0]`."""
    parent_pid, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        die_with_parent(parent_pid)
        os.execv(command[0], command)  # noqa: S606
    return run_watched(command, sys.stdin.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
