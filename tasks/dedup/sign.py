"""A batch's signatures: what near-duplicate search needs of each document."""

import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa

from schemas.stages import SIGNATURE
from tasks.dedup.comparison import comparison_text
from tasks.dedup.minhash import anchors, signatures
from tasks.dedup.settings import DedupSettings


def access_scope(tenant: str, groups: list[str]) -> str:
    """Tenant and groups as canonical JSON; documents of different scopes are never compared.

    >>> access_scope("acme", ["staff", "board", "staff"])
    '["acme",["board","staff"]]'
    """
    return json.dumps([tenant, sorted(set(groups))], ensure_ascii=False, separators=(",", ":"))


def signature_rows(documents: pa.Table, clean_texts: Sequence[str], settings: DedupSettings) -> pa.Table:
    """`SIGNATURE` rows of documents (`DOCUMENTS` rows) and their clean texts, in their order.

    A text without any character has an empty `text_sha`.
    """
    texts = [comparison_text(text) for text in clean_texts]
    _, keys = signatures(texts, shingle_size=settings.shingle_size, hashes=settings.hashes, bands=settings.bands)
    rows = documents.select(["document_id", "tenant", "groups"]).to_pylist()
    return pa.Table.from_pydict(
        {
            "document_id": [document["document_id"] for document in rows],
            "scope": [access_scope(document["tenant"], document["groups"]) for document in rows],
            "text_sha": [_sha(text) for text in texts],
            "shingles": [max(0, len(text) - settings.shingle_size + 1) for text in texts],
            "bands": keys.tolist(),
            "anchors": [anchors(text) for text in texts],
        },
        schema=SIGNATURE,
    )


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""
