"""Named queries and a user's own SELECT, over a lake whose figures are worked out by hand."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from schemas.measures import MEASURES
from tasks.errors import ConfigurationError
from tasks.figures.catalogue import load_catalogue
from tasks.lake.files import read_table, write_table
from tasks.lake.layout import Lake
from tasks.lake.runs import Runs
from tasks.report.queries import available, connect, connect_two, run_query, run_select
from tests.tasks.report.lake_by_hand import ARTICLE, COPY, HOSTILE, NEW, OLD, REPORT, lake_by_hand


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake by hand."""
    return lake_by_hand(tmp_path_factory.mktemp("lake"))


def test_every_query_says_what_it_answers_and_runs(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue()) as one, connect_two(lake, OLD, NEW, load_catalogue()) as two:
        for query in available().values():
            assert query.answers.endswith(".")
            assert query.example.startswith("corpusgate ")
            needed = {parameter.name: REPORT for parameter in query.parameters if parameter.required}
            assert run_query(two if query.name == "two_runs" else one, query.name, needed).num_columns > 1


def test_a_document_is_followed_through_all_eleven_stages(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "one_document", {"document_id": REPORT}).to_pylist(maps_as_pydicts="strict")
        failed = run_query(connection, "one_document", {"document_id": HOSTILE}).to_pylist()
    assert [row["stage"] for row in rows][:3] == ["fetch", "parse", "boilerplate"]
    assert len(rows) == 11
    parse = rows[1]
    assert parse["figures"] == {"cer": 0.3, "teds": 0.75}  # two tables: (1 + 0.5) / 2
    assert (parse["parts"], parse["seconds"]) == (1, 2.0)
    assert [row["outcome"] for row in failed] == ["ok", "quarantined"] + ["not reached"] * 9
    assert (failed[1]["reason"], failed[1]["remedy"]) == ("corrupt", "export it `again`")


def test_a_document_that_nobody_knows_has_no_way_through_the_stages(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue()) as connection:
        assert run_query(connection, "one_document", {"document_id": "doc-unknown"}).num_rows == 0


def test_worst_documents_follow_the_direction_and_leave_out_perfect_ones(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "worst_documents").to_pylist()
        one = run_query(connection, "worst_documents", {"metric": "cer", "per_measure": 1}).to_pylist()
    assert [(r["metric"], r["document_id"], r["value"], r["missing"]) for r in rows] == [
        ("cer", HOSTILE, 1.0, True),
        ("cer", REPORT, 0.3, False),
        ("teds", REPORT, 0.75, False),
    ]
    assert [row["document_id"] for row in one] == [HOSTILE]


def test_two_runs_are_compared_by_class_with_the_documents_that_pair_up(lake: Lake) -> None:
    with connect_two(lake, OLD, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "two_runs", {"stage": "parse"}).to_pylist()
    found = {(r["metric"], r["doc_class"]): r for r in rows if r["aggregation"] == "micro"}
    everything, report = found["cer", "all"], found["cer", "report"]
    assert everything["value_a"] == pytest.approx(1 / 30)
    assert everything["value_b"] == pytest.approx(13 / 40)
    assert (everything["paired_documents"], everything["reading"]) == (2, "worse")
    assert (report["value_a"], report["value_b"]) == (pytest.approx(0.1), pytest.approx(13 / 20))
    assert (report["items_a"], report["items_b"], report["paired_documents"]) == (1, 2, 1)
    assert found["cer", "article"]["reading"] == ""


def test_documents_that_came_or_went_are_no_better_or_worse(tmp_path: Path) -> None:
    # The article alone is in both runs, and measured as before: 0 of 20 errors, and what joins it makes the difference.
    lake = lake_by_hand(tmp_path / "lake")
    path, runs = lake.measures("parse") / f"{OLD}.parquet", Runs(lake)
    rows = read_table(path, MEASURES)
    write_table(rows.filter(pc.field("document_id") != REPORT), path, MEASURES)
    with connect_two(lake, OLD, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "two_runs", {"stage": "parse"}).to_pylist()
    # The report is in both runs, though one of them has not measured it.
    assert {row["reading"] for row in rows if (row["metric"], row["doc_class"]) == ("cer", "all")} == {"worse"}
    runs.write_plan(OLD, runs.plan(OLD).filter(pc.field("document_id") != REPORT))
    with connect_two(lake, OLD, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "two_runs", {"stage": "parse"}).to_pylist()
    (everything,) = (r for r in rows if (r["metric"], r["aggregation"], r["doc_class"]) == ("cer", "micro", "all"))
    assert (everything["value_a"], everything["value_b"]) == (0, pytest.approx(13 / 40))
    assert (everything["paired_documents"], everything["reading"]) == (1, "other documents")
    # Under other labels not even the article can be compared.
    relabelled = [row | {"label_digest": "another"} for row in read_table(path, MEASURES).to_pylist()]
    write_table(pa.Table.from_pylist(relabelled, schema=MEASURES), path, MEASURES)
    with connect_two(lake, OLD, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "two_runs", {"stage": "parse"}).to_pylist()
    (everything,) = (r for r in rows if (r["metric"], r["aggregation"], r["doc_class"]) == ("cer", "micro", "all"))
    assert (everything["paired_documents"], everything["reading"]) == (0, "no pairs")


def test_a_run_that_lacks_a_figure_says_why(lake: Lake, tmp_path: Path) -> None:
    with connect_two(lake, OLD, NEW, load_catalogue()) as connection:
        assert {row["lacks"] for row in run_query(connection, "two_runs").to_pylist()} == {None}
    # The earlier run had no labels at all: what was measured without any is still there.
    bare = lake_by_hand(tmp_path / "lake")
    path = bare.measures("parse") / f"{OLD}.parquet"
    write_table(read_table(path, MEASURES).slice(0, 0), path, MEASURES)
    facts = bare.run(OLD) / "facts" / "parse.parquet"
    rows = read_table(facts, MEASURES)
    write_table(rows.filter(pc.field("metric") != "seconds"), facts, MEASURES)
    with connect_two(bare, OLD, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "two_runs", {"stage": "parse"}).to_pylist()
    lacks = {(row["metric"], row["doc_class"]): row["lacks"] for row in rows}
    assert lacks["cer", "all"] == lacks["cer", "report"] == "a: not labelled (text)"
    assert lacks["teds", "all"] == "a: not labelled (tables)"
    assert lacks["seconds", "all"] == "a: not measured"
    assert lacks["quarantined", "all"] is None


def test_labels_that_name_no_document_are_among_the_lost(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue(), figures=False) as connection:
        rows = run_query(connection, "labels_lost", {"stage": "parse"}).to_pylist()
    unbound = {row["metric"]: row for row in rows if row["status"] == "unbound"}
    # The manifest counts two labels of kind text; parse reads such labels for these.
    assert {"cer", "wer"} <= unbound.keys()
    assert "teds" not in unbound
    assert (unbound["cer"]["items"], unbound["cer"]["gold_set"], unbound["cer"]["document_id"]) == (2, "demo 1", None)
    assert [row["uri"] for row in rows if row["status"] == "missing"] != []


def test_quarantine_names_cause_and_remedy_and_whether_it_was_expected(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue(), figures=False) as connection:
        (row,) = run_query(connection, "quarantine").to_pylist()
    assert (row["document_id"], row["error_class"], row["expected"]) == (HOSTILE, "corrupt", False)


def test_class_by_stage_counts_documents_in_and_out(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue()) as connection:
        rows = run_query(connection, "class_by_stage").to_pylist()
    found = {(row["doc_class"], row["stage"]): row for row in rows}
    parse, dedup = found["report", "parse"], found["article", "dedup"]
    assert (parse["documents_in"], parse["documents_out"], parse["quarantined"]) == (2, 1, 1)
    assert (dedup["documents_in"], dedup["documents_out"], dedup["dropped"]) == (2, 1, 1)
    assert parse["cer"] == pytest.approx(13 / 20)


@pytest.mark.parametrize(
    "query",
    [
        "DROP VIEW documents",
        "COPY documents TO 'stolen.csv'",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1; SELECT 2",
        "ATTACH 'other.db'",
        "SET memory_limit = '1TB'",
        "",
    ],
)
def test_anything_but_one_select_is_refused(
    lake: Lake, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        connect(lake, NEW, load_catalogue(), figures=False) as connection,
        pytest.raises(ConfigurationError, match="only one SELECT"),
    ):
        run_select(connection, query)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "query", ["SHOW TABLES", "DESCRIBE documents", 'SELECT count(*) FROM "fetch"', "EXPLAIN SELECT 1"]
)
def test_reading_in_any_form_is_allowed(lake: Lake, query: str) -> None:
    with connect(lake, NEW, load_catalogue(), figures=False) as connection:
        assert run_select(connection, query).num_rows > 0


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("nothing_like_it", {}, "no query"),
        ("one_document", {}, "'document_id' is missing"),
        ("cost", {"colour": "red"}, "unknown parameter 'colour'"),
        ("worst_documents", {"per_measure": "many"}, "many"),
    ],
)
def test_a_wrong_call_is_explained(lake: Lake, name: str, parameters: dict[str, str], said: str) -> None:
    with (
        connect(lake, NEW, load_catalogue(), figures=False) as connection,
        pytest.raises(ConfigurationError, match=said),
    ):
        run_query(connection, name, parameters)


def test_a_duplicate_is_among_the_dropped_and_a_kept_document_is_not(lake: Lake) -> None:
    with connect(lake, NEW, load_catalogue(), figures=False) as connection:
        dropped = run_select(connection, "SELECT document_id FROM locations WHERE outcome = 'dropped'").to_pylist()
    assert dropped == [{"document_id": COPY}]
    assert ARTICLE not in str(dropped)


@pytest.mark.parametrize("reader", ["read_text", "read_csv", "read_blob", "glob"])
def test_files_outside_the_lake_cannot_be_read(lake: Lake, reader: str, tmp_path: Path) -> None:
    outside = tmp_path / "secret.csv"
    outside.write_text("a,b\n1,2\n", encoding="utf-8")
    with (
        connect(lake, NEW, load_catalogue(), figures=False) as connection,
        pytest.raises(ConfigurationError, match="disabled by configuration"),
    ):
        run_select(connection, f"SELECT * FROM {reader}('{outside}')")


def test_a_folder_named_like_a_pattern_is_read_as_it_is_named(tmp_path: Path) -> None:
    odd = lake_by_hand(tmp_path / "lake [1]* it's?")
    with connect(odd, NEW, load_catalogue()) as connection:
        (row,) = run_select(connection, "SELECT count(*) AS n FROM documents").to_pylist()
        assert row["n"] > 0
        assert run_select(connection, "SELECT * FROM measures").num_rows > 0
        assert run_select(connection, "SELECT * FROM figures").num_rows > 0
