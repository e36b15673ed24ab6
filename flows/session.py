"""The runs that this process is working on: Prefect tasks carry a run id, and find here what it stands for."""

from collections.abc import Iterator
from contextlib import contextmanager

from tasks.errors import RunError
from tasks.run.session import Session

_SESSIONS: dict[str, Session] = {}


@contextmanager
def opened(session: Session) -> Iterator[None]:
    """Makes a session known to the tasks of this process while the block runs."""
    run_id = session.context.run_id
    _SESSIONS[run_id] = session
    try:
        yield
    finally:
        del _SESSIONS[run_id]


def session(run_id: str) -> Session:
    """The session of a run.

    Raises:
        RunError: the run was not started in this process.
    """
    try:
        return _SESSIONS[run_id]
    except KeyError:
        raise RunError(
            f"run {run_id} is not open in this process",
            remedy="start runs with `corpusgate run` or the flow `recheck`, which open it first",
        ) from None
