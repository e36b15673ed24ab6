"""A trivial flow, in a module of its own because flows are never run from `__main__`."""

from prefect import flow, task


@task
def double(number: int) -> int:
    return 2 * number


@flow
def double_all(count: int) -> list[int]:
    return double.map(range(count)).result()
