"""Ids are given at first sight, survive moves, and are never taken from a document that is still there."""

from hypothesis import given
from hypothesis import strategies as st

from tasks.run.planning import assign_ids, document_hash


def known(source: str, uri: str, sha: str, document_id: str | None = None) -> dict[str, str]:
    return {
        "source": source,
        "uri": uri,
        "content_sha": sha,
        "document_id": document_id or document_hash(source, uri),
    }


def test_a_path_keeps_its_id_when_its_bytes_change() -> None:
    assert assign_ids([("s", "a.md", "new")], [known("s", "a.md", "old", "doc-1")]) == ["doc-1"]


def test_the_same_bytes_at_a_new_path_are_a_move() -> None:
    assert assign_ids([("s", "b.md", "x")], [known("s", "a.md", "x", "doc-1")]) == ["doc-1"]


def test_a_copy_beside_the_original_is_a_new_document() -> None:
    ids = assign_ids([("s", "a.md", "x"), ("s", "b.md", "x")], [known("s", "a.md", "x", "doc-1")])
    assert ids == ["doc-1", document_hash("s", "b.md")]


def test_two_moves_of_equal_bytes_pair_up_in_path_order() -> None:
    gone = [known("s", "old/1.md", "x", "doc-1"), known("s", "old/2.md", "x", "doc-2")]
    assert assign_ids([("s", "new/b.md", "x"), ("s", "new/a.md", "x")], gone) == ["doc-2", "doc-1"]


def test_a_new_document_at_a_path_that_was_moved_away_gets_a_numbered_id() -> None:
    before = [known("s", "a.md", "x")]
    ids = assign_ids(
        [("s", "a-moved.md", "x"), ("s", "a.md", "y")], [known("s", "a-moved.md", "x", before[0]["document_id"])]
    )
    assert ids == [document_hash("s", "a.md"), document_hash("s", "a.md", 2)]


def test_a_move_between_sources_is_no_move() -> None:
    assert assign_ids([("t", "a.md", "x")], [known("s", "a.md", "x", "doc-1")]) == [document_hash("t", "a.md")]


def test_a_remote_document_without_a_hash_never_takes_another_id() -> None:
    assert assign_ids([("s", "b", None)], [known("s", "a", "x", "doc-1")]) == [document_hash("s", "b")]


def test_ids_leak_no_name_and_are_the_same_everywhere() -> None:
    # sha256("s:secret/plan.md"), first 16 hex digits, by another implementation (coreutils' sha256sum).
    assert document_hash("s", "secret/plan.md") == "doc-03e5e2e165660586"
    assert "secret" not in document_hash("s", "secret/plan.md")


PLACES = st.tuples(st.just("s"), st.sampled_from("abcdef"), st.sampled_from(["x", "y", None]))


@given(st.lists(PLACES, unique_by=lambda place: place[:2]), st.lists(PLACES, unique_by=lambda place: place[:2]))
def test_ids_are_unique_and_do_not_depend_on_the_order_of_the_listing(
    found: list[tuple[str, str, str | None]], before: list[tuple[str, str, str | None]]
) -> None:
    rows = [known(source, uri, sha or "") for source, uri, sha in before]
    ids = dict(zip(found, assign_ids(found, rows), strict=True))
    assert len(set(ids.values())) == len(found)
    again = list(reversed(found))
    assert dict(zip(again, assign_ids(again, rows), strict=True)) == ids
