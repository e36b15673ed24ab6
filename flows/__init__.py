"""Prefect and the command line. Whoever imports a part of it gets our own `tasks`, `schemas` and `data_contracts`."""

from flows.allocation import let_arrow_share
from flows.own_packages import shield

shield()
let_arrow_share()
