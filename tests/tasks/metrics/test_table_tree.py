import json
from pathlib import Path

import pytest

from tasks.metrics import tree_distance
from tasks.metrics.table_tree import teds
from tasks.metrics.tree_distance import TableTooLargeError

ROW = "<table><tr><td>a</td><td>b</td></tr></table>"


def test_the_published_pairs_agree(shared_data: Path) -> None:
    folder = shared_data / "tables" / "pubtabnet-metric-oracle"
    truth, predicted, expected = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("sample_gt.json", "sample_pred.json", "expected_scores.json")
    )
    assert len(expected) == 20
    for name, scores in expected.items():
        html = truth[name]["html"], predicted[name]
        assert teds(*html, published=True) == pytest.approx(scores["teds_published"], abs=1e-9)
        structure = teds(*html, published=True, structure_only=True)
        assert structure == pytest.approx(scores["teds_struct_only_recomputed"], abs=1e-9)


def test_the_published_single_pair_agrees(shared_data: Path) -> None:
    notebook = json.loads((shared_data / "tables/pubtabnet-metric-oracle/demo.ipynb").read_text(encoding="utf-8"))
    source = next("".join(c["source"]) for c in notebook["cells"] if "Sample HTML code" in "".join(c["source"]))
    pair = {line.split(" = ")[0]: line.split(" = ", 1)[1].strip("'") for line in source.splitlines() if " = " in line}
    assert teds(pair["true"], pair["pred"], published=True) == pytest.approx(0.9781765018607124, abs=1e-9)


def test_th_is_a_cell_with_content_in_the_products_figure_only() -> None:
    header, other = (f"<table><tr><th>{text}</th></tr></table>" for text in ("abcd", "wxyz"))
    assert teds(header, header.replace("th>", "td>")) == 1.0
    assert teds(header, other) == 0.5
    assert teds(header, other, published=True) == 1.0


def test_white_space_in_cells_is_collapsed_in_the_products_figure_only() -> None:
    spaced = "<table>\n <tr><td> a\n  b </td></tr>\n</table>"
    assert teds("<table><tr><td>a b</td></tr></table>", spaced) == 1.0
    assert teds("<table><tr><td>a b</td></tr></table>", spaced, published=True) < 1.0


def test_a_wrong_span_costs_one_node() -> None:
    assert teds(ROW, ROW.replace("<td>a", "<td colspan='2'>a")) == pytest.approx(1 - 1 / 3)


def test_a_table_that_is_not_there_scores_nothing() -> None:
    assert teds(ROW, "") == 0.0
    assert teds(ROW, "<p>a b</p>") == 0.0


def test_a_row_of_a_body_may_be_mapped_to_a_row_without_one() -> None:
    # tr(abcd) against tbody(tr(ab) tr(cd)): one row is renamed to a body, two rows are put in: 3 of 7 nodes.
    truth = "<table><tr><td>a<td>b<td>c<td>d</table>"
    split = "<table><tbody><tr><td>a<td>b</tr><tr><td>c<td>d</tr></tbody></table>"
    assert teds(truth, split) == pytest.approx(1 - 3 / 7)


def test_equal_tables_of_any_size_are_equal_and_unlike_ones_too_large_are_refused() -> None:
    def table(text: str, rows: int) -> str:
        return "<table>" + f"<tr><td>{text}</td></tr>" * rows + "</table>"

    assert teds(table("a", 6000), table("a", 6000)) == 1.0
    with pytest.raises(TableTooLargeError, match=r"12000 and 12000 nodes .* memory"):
        teds(table("a", 6000), table("b", 6000))
    assert teds(table("a", 300), table("b", 300)) == 0.5
    with pytest.raises(TableTooLargeError, match="601 and 601 nodes"):
        teds(table("a", 300), table("b", 300), algorithm="apted")


def test_a_comparison_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_distance, "STEP_LIMIT", 3)
    with pytest.raises(TableTooLargeError, match="too long"):
        teds(ROW, ROW.replace(">a<", ">c<").replace(">b<", ">d<"))
