"""Prefect and the command line. Whoever imports a part of it gets our own `tasks`, `schemas` and `data_contracts`."""

from flows.own_packages import shield

shield()
