"""The runs that this process is working on: Prefect tasks carry a run id, and find here what it stands for."""

from tasks.errors import RunError
from tasks.run.session import Session

_SESSIONS: dict[str, Session] = {}


def register(opened: Session) -> None:
    """Makes a session known to the tasks of this process."""
    _SESSIONS[opened.context.run_id] = opened


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
