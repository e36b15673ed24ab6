"""Connections share a lake's database and nothing else, and what they spill can be removed at any time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tasks.lake.layout import Lake
from tasks.lake.views import open_connection, remove_spilled

# A sort of far more than the connections of a lake may hold in memory.
SPILLS = "SELECT count(*) FROM (SELECT md5(i::VARCHAR) AS a, i FROM range(6000000) t(i) ORDER BY a OFFSET 3)"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    made.create()
    return made


def test_what_one_connection_makes_no_other_sees(lake: Lake) -> None:
    with open_connection(lake) as one, open_connection(lake) as other:
        for number, connection in enumerate((one, other)):
            connection.register("documents", pa.table({"n": [number]}))
            connection.execute("CREATE TEMP VIEW twice AS SELECT 2 * n AS m FROM documents")
            connection.execute("CREATE TEMP TABLE kept AS SELECT m + 1 AS k FROM twice")
        one.execute("CREATE TEMP MACRO shout(x) AS x || '!'")
        assert one.sql("SELECT k FROM kept").fetchall() == [(1,)]
        with pytest.raises(duckdb.CatalogException):
            other.sql("SELECT shout('a')").fetchall()
        one.close()
        assert other.sql("SELECT k FROM kept").fetchall() == [(3,)]


def test_a_lake_after_another_has_a_database_of_its_own(lake: Lake, tmp_path: Path) -> None:
    second = Lake(tmp_path / "second")
    second.create()
    with open_connection(lake) as first, open_connection(second) as other:
        setting = "SELECT current_setting('temp_directory')"
        assert first.sql(setting).fetchall() == [(str(lake.cache / "duckdb"),)]
        assert other.sql(setting).fetchall() == [(str(second.cache / "duckdb"),)]


def test_what_was_spilled_can_be_removed_and_more_is_spilled_after_it(lake: Lake) -> None:
    with open_connection(lake) as connection:
        connection.execute(f"CREATE TEMP TABLE large AS {SPILLS.replace('count(*)', '*')}")
        assert remove_spilled(lake)
        assert not (lake.cache / "duckdb").exists()
    with open_connection(lake) as connection:
        assert connection.sql(SPILLS).fetchall() == [(5_999_997,)]
    assert not remove_spilled(lake)


_KILLED = """
import sys, time
from pathlib import Path
from tasks.lake.layout import Lake
from tasks.lake.views import open_connection
connection = open_connection(Lake(Path(sys.argv[1])))
connection.execute("CREATE TEMP TABLE large AS " + sys.argv[2])
print("spilled", flush=True)
time.sleep(600)
"""


def test_what_a_killed_process_has_spilled_is_removed(lake: Lake) -> None:
    query = SPILLS.replace("count(*)", "*")
    with subprocess.Popen([sys.executable, "-c", _KILLED, str(lake.root), query], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"spilled\n"
        os.kill(process.pid, signal.SIGKILL)
    assert list((lake.cache / "duckdb").glob("*.tmp"))
    assert remove_spilled(lake)
    assert not (lake.cache / "duckdb").exists()
