from tasks.metrics.rates import DetectionCounts
from tasks.metrics.table_cells import table_cells
from tasks.metrics.table_match import PlacedTable, WrongCell, adjacency, match_tables

HTML = "<table><tr><td>{}</td></tr></table>"


def placed(text: str, page: int | None = None, box: tuple[float, float, float, float] | None = None) -> PlacedTable:
    return PlacedTable(HTML.format(text), page, box)


def test_boxes_on_one_page_match_whatever_the_content() -> None:
    labelled = [placed("cat", 1, (0, 0, 10, 10)), placed("dog", 2, (0, 0, 10, 10))]
    predicted = [placed("cat", 2, (0, 1, 10, 10)), placed("x", 1, (0, 0, 9, 10)), placed("cat", 1, (50, 50, 60, 60))]
    assert match_tables(labelled, predicted) == [(0, 1), (1, 0)]


def test_half_a_table_is_no_match_but_the_larger_part_is() -> None:
    whole = [placed("a", 1, (0, 0, 10, 10))]
    assert match_tables(whole, [placed("a", 1, (0, 0, 10, 4))]) == []
    assert match_tables(whole, [placed("a", 1, (0, 0, 10, 4)), placed("a", 1, (0, 4, 10, 10))]) == [(0, 1)]


def test_without_boxes_content_matches_in_order() -> None:
    labelled = [placed("one two"), placed("one two"), placed("three four")]
    predicted = [placed("one two"), placed("five six"), placed("three four five")]
    assert match_tables(labelled, predicted) == [(0, 0), (2, 2)]
    assert match_tables([placed("one", 1)], [placed("one", 2)]) == []


def test_spans_push_cells_to_their_columns() -> None:
    cells = table_cells(
        "<table><thead><tr><th colspan=2>ab<th rowspan=9>c</thead><tbody><tr><td>d<td>e</tbody></table>"
    )
    assert [(c.row, c.column, c.rowspan, c.colspan) for c in cells] == [
        (0, 0, 1, 2),
        (0, 2, 2, 1),
        (1, 0, 1, 1),
        (1, 1, 1, 1),
    ]


def test_relations_of_a_spanning_cell_and_of_empty_cells() -> None:
    # "ab" is above d and e and beside c; c is beside e; d is beside e: five relations. The empty cell has none.
    table = "<table><tr><td colspan=2>ab<td rowspan=2>c<tr><td>d<td>e<tr><td><td><td></table>"
    result = adjacency(table, table)
    assert result.counts == DetectionCounts(matched=5, predicted=5, labelled=5)
    assert result.wrong_cells == ()


def test_a_shifted_column_is_named() -> None:
    truth = "<table><tr><td>h1<td>h2<td>h3<tr><td>a<td>b<td></table>"
    shifted = "<table><tr><td>h1<td>h2<td>h3<tr><td>a<td><td>b</table>"
    result = adjacency(truth, shifted)
    # h1-h2, h2-h3, a-b and h1/a hold; h2/b became h3/b.
    assert result.counts == DetectionCounts(matched=4, predicted=5, labelled=5)
    assert result.wrong_cells == (WrongCell(1, 1, "shifted"),)


def test_lost_and_invented_cells_are_named_once_each() -> None:
    truth = "<table><tr><td>a<td>b<td>c<tr><td>0<td>0<td>1</table>"
    found = "<table><tr><td>a<td>x<td>c<tr><td>0<td><td>1</table>"
    wrong = [WrongCell(0, 1, "invented"), WrongCell(0, 1, "missing"), WrongCell(1, 1, "missing")]
    assert adjacency(truth, found).wrong_cells == tuple(wrong)
    assert [cell.fault for cell in adjacency(truth, "").wrong_cells] == ["missing"] * 6
    assert [cell.fault for cell in adjacency("", truth).wrong_cells] == ["invented"] * 6
    assert adjacency(truth, truth).wrong_cells == ()


def test_a_missing_table_has_no_relation() -> None:
    assert adjacency(HTML.format("a"), "").counts == DetectionCounts(0, 0, 0)
