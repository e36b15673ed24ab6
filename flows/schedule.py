"""`corpusgate serve`: Prefect's scheduler and runner for one corpus on one machine."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from flows.own_packages import shield_children
from flows.server import private_server
from schemas.verdict import FailOn
from tasks.errors import ConfigurationError
from tasks.lake.layout import Lake
from tasks.run.configuration import load_configuration


@dataclass(frozen=True, slots=True)
class Timing:
    """When runs are due: by a cron expression in a time zone, or every so many seconds; one of the two is given."""

    cron: str | None
    timezone: str
    every: float | None


def serve(config: Path, timing: Timing, *, name: str, wait: float, fail_on: FailOn, say: Callable[[str], None]) -> None:
    """Runs a configuration on a schedule until SIGINT or SIGTERM, each run in a process of its own.

    With `PREFECT_API_URL` in the environment, the schedule stands in that server. Otherwise a private one keeps it for
    as long as this process lives. A run that would begin while another is on is left out.

    Raises:
        ConfigurationError: the configuration, the cron expression or the time zone is wrong.
        RunError: the private server did not start, or ended.
    """
    lake = Lake(load_configuration(config).lake)
    lake.create()
    with private_server(lake.root / "prefect", scheduling=True) as url:
        from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
        from prefect.schedules import Cron, Interval
        from prefect.types.entrypoint import EntrypointType
        from pydantic import ValidationError

        from flows.recheck import SERVED_BY, recheck

        try:
            if timing.cron is not None:
                schedule = Cron(timing.cron, timezone=timing.timezone)
            else:
                schedule = Interval(timedelta(seconds=timing.every or 0), timezone=timing.timezone)
        except (ValueError, ValidationError) as error:
            raise ConfigurationError(
                f"no schedule can be made of {timing.cron!r} in time zone {timing.timezone!r}",
                remedy='give five fields and a zone, such as --cron "15 2 * * *" --timezone Europe/Paris',
            ) from error
        say(f"runs of {config} are scheduled as recheck/{name}; Prefect: {url.removesuffix('/api')}; Ctrl-C ends it")
        os.environ[SERVED_BY] = str(os.getpid())
        shield_children()
        recheck.serve(
            name=name,
            schedule=schedule,
            parameters={"config": str(config.resolve()), "fail_on": fail_on, "wait": wait},
            tags=["corpusgate"],
            # Two may be taken up, so that the second is cancelled instead of piling up behind the first.
            limit=2,
            global_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
            entrypoint_type=EntrypointType.MODULE_PATH,
            print_starting_message=False,
        )
