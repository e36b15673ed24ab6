"""Which predicted table is which labelled table, and which of its cells are beside the right neighbours."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from tasks.metrics.rates import DetectionCounts
from tasks.metrics.table_cells import Cell, table_cells

OVERLAP_LIMIT = 0.5
"""Least intersection over union of two boxes on one page."""
CONTENT_LIMIT = 0.5
"""Least content similarity where a box is missing."""

Box: TypeAlias = tuple[float, float, float, float]
Way: TypeAlias = Literal["right", "below"]
Relation: TypeAlias = tuple[str, str, Way]


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """A table with its page (from 1) and box (x0, y0, x1, y1, points from the top left) where they are known."""

    html: str
    page: int | None = None
    bbox: Box | None = None


def box_overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes; 0 where they are apart or without area.

    >>> box_overlap((0, 0, 2, 1), (1, 0, 3, 1))
    0.3333333333333333
    """
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)) - shared)


def content_similarity(one: str, other: str) -> float:
    """Share of words in common between the cells of two tables (Dice on counted words); 1 for two empty tables.

    >>> content_similarity("<table><tr><td>a b<td>c</table>", "<table><tr><td>a<td>c d</table>")
    0.6666666666666666
    """
    return _dice(_words(one), _words(other))


def match_tables(labelled: Sequence[PlacedTable], predicted: Sequence[PlacedTable]) -> list[tuple[int, int]]:
    """Pairs (labelled, predicted) of positions, one to one, sorted.

    Tables that both have page and box match by overlap on the same page (at least `OVERLAP_LIMIT`), best first. What
    is left over and misses a box on one side matches in reading order by content (at least `CONTENT_LIMIT`, never
    across known pages that differ), so that the similarities add up to the most.

    >>> one, two = (PlacedTable(f"<table><tr><td>{text}</table>") for text in ("cat", "dog"))
    >>> match_tables([one, two], [two])
    [(1, 0)]
    """
    pairs = _by_overlap(labelled, predicted)
    used_labelled, used_predicted = {i for i, _ in pairs}, {j for _, j in pairs}
    rest = [i for i in range(len(labelled)) if i not in used_labelled]
    others = [j for j in range(len(predicted)) if j not in used_predicted]
    words = {("l", i): _words(labelled[i].html) for i in rest} | {("p", j): _words(predicted[j].html) for j in others}

    def both_boxed(i: int, j: int) -> bool:
        return labelled[i].bbox is not None and predicted[j].bbox is not None

    def similarity(i: int, j: int) -> float:
        truth, found = labelled[i], predicted[j]
        if truth.page is not None and found.page is not None and (truth.page != found.page or both_boxed(i, j)):
            return 0.0
        value = _dice(words["l", i], words["p", j])
        return value if value >= CONTENT_LIMIT else 0.0

    scores = [[similarity(i, j) for j in others] for i in rest]
    return sorted([*pairs, *((rest[a], others[b]) for a, b in _in_order(scores))])


def _by_overlap(labelled: Sequence[PlacedTable], predicted: Sequence[PlacedTable]) -> list[tuple[int, int]]:
    candidates = sorted(
        (-overlap, i, j)
        for i, truth in enumerate(labelled)
        for j, found in enumerate(predicted)
        if truth.page is not None and truth.page == found.page and truth.bbox and found.bbox
        if (overlap := box_overlap(truth.bbox, found.bbox)) >= OVERLAP_LIMIT
    )
    pairs: list[tuple[int, int]] = []
    for _, i, j in candidates:
        if all(i != a and j != b for a, b in pairs):
            pairs.append((i, j))
    return pairs


def _in_order(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The order-keeping one-to-one assignment with the highest sum; a score of 0 is no match."""
    rows, columns = len(scores), len(scores[0]) if scores else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            taken = scores[i][j] + best[i + 1][j + 1] if scores[i][j] else 0.0
            best[i][j] = max(taken, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _words(html: str) -> Counter[str]:
    return Counter(word for cell in table_cells(html) for word in cell.text.split())


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


CellFault: TypeAlias = Literal["missing", "shifted", "invented"]


@dataclass(frozen=True, slots=True, order=True)
class WrongCell:
    """A cell at its row and column (from 0): of the labelled table, or where it was invented, of the predicted one."""

    row: int
    column: int
    fault: CellFault


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Neighbour relations compared, and the cells at fault."""

    counts: DetectionCounts
    wrong_cells: tuple[WrongCell, ...]


def adjacency(truth_html: str, predicted_html: str) -> Adjacency:
    """Compares which non-empty cells stand side by side and one above the other.

    A relation is the texts of two cells (white space removed) and a direction. A cell's neighbour is the nearest
    non-empty one; a cell with spans has one in each of its rows and columns. Equal relations are counted.
    Source: Göbel, Hassan, Oro and Orsi, ICDAR 2013 table competition.

    A cell is missing or invented where the other table has its text less often; it is shifted where it lacks one of its
    relations and the predicted table has another text at its place (own definition).

    A row "a | b" over "c | d" has four relations; with c and d swapped only "a right b" is left:

    >>> table = "<table><tr><td>a<td>b<tr><td>{}<td>{}</table>"
    >>> result = adjacency(table.format("c", "d"), table.format("d", "c"))
    >>> result.counts
    DetectionCounts(matched=1, predicted=4, labelled=4)
    >>> [(cell.row, cell.column, cell.fault) for cell in result.wrong_cells]
    [(1, 0, 'shifted'), (1, 1, 'shifted')]
    """
    labelled, predicted = table_cells(truth_html), table_cells(predicted_html)
    truth = _relations(labelled)
    if labelled == predicted:
        return Adjacency(DetectionCounts(len(truth), len(truth), len(truth)), ())
    answer = _relations(predicted)
    expected, found = (Counter(relation for relation, _, _ in relations) for relations in (truth, answer))
    counts = DetectionCounts((expected & found).total(), found.total(), expected.total())
    lost, added = expected - found, found - expected
    lacking = {cell for relation, one, other in truth if relation in lost for cell in (one, other)}
    extra = {cell for relation, one, other in answer if relation in added for cell in (one, other)}
    places = {(cell.row, cell.column): _key(cell) for cell in predicted}
    missing, invented = _surplus(labelled, predicted, lacking), _surplus(predicted, labelled, extra)
    wrong = [
        *(WrongCell(cell.row, cell.column, "missing") for cell in missing),
        *(WrongCell(cell.row, cell.column, "invented") for cell in invented),
        *(
            WrongCell(cell.row, cell.column, "shifted")
            for cell in lacking - missing
            if places.get((cell.row, cell.column)) != _key(cell)
        ),
    ]
    return Adjacency(counts, tuple(sorted(wrong)))


def _surplus(cells: Sequence[Cell], others: Sequence[Cell], suspects: Set[Cell]) -> set[Cell]:
    """The non-empty cells whose text the others have less often; of cells alike, the suspects, then the last ones."""
    left = Counter(_key(cell) for cell in others)
    surplus = set()
    for cell in sorted(cells, key=lambda cell: (cell in suspects, cell.row, cell.column)):
        key = _key(cell)
        if left[key]:
            left[key] -= 1
        elif key:
            surplus.add(cell)
    return surplus


def _key(cell: Cell) -> str:
    return "".join(cell.text.split())


def _relations(cells: Iterable[Cell]) -> list[tuple[Relation, Cell, Cell]]:
    rows: dict[int, list[Cell]] = defaultdict(list)
    columns: dict[int, list[Cell]] = defaultdict(list)
    filled = [cell for cell in cells if cell.text]
    for cell in filled:
        for row in range(cell.row, cell.row + cell.rowspan):
            rows[row].append(cell)
        for column in range(cell.column, cell.column + cell.colspan):
            columns[column].append(cell)
    found: dict[tuple[Cell, Cell, Way], Relation] = {}
    lines: list[tuple[Way, list[Cell]]] = [
        *(("right", sorted(line, key=lambda cell: cell.column)) for line in rows.values()),
        *(("below", sorted(line, key=lambda cell: cell.row)) for line in columns.values()),
    ]
    for way, line in lines:
        for one, other in pairwise(line):
            found[one, other, way] = (_key(one), _key(other), way)
    return [(relation, one, other) for (one, other, _), relation in found.items()]
