"""Prefect and the command line. Whoever imports a part of it gets our own `tasks`, `schemas` and `data_contracts`."""

from flows.own_packages import shield

shield()

from tasks.memory import let_arrow_share  # noqa: E402 - not before it is sure that these tasks are ours

let_arrow_share()
