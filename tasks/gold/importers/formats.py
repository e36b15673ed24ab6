"""The formats of labels that can be imported, in words: what each expects and what it gives.

Nothing here loads an importer, so that the command line's help is quick; `registry` says who reads each.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GoldFormat:
    """A format by its name, which is also that of the source its labels speak of.

    `expects`: what must lie in the folder. `gives`: the documents and the kinds of label made of it. `description` and
    `licence` go to the manifest of the gold set.
    """

    name: str
    expects: str
    gives: str
    description: str
    licence: str


FORMATS: tuple[GoldFormat, ...] = (
    GoldFormat(
        "article-extraction-benchmark",
        "`ground-truth.json` and `html/<id>.html.gz`",
        "web pages with `content`: the article body",
        "Main text of web pages, marked by people.",
        "MIT (labels); the pages are third parties'",
    ),
    GoldFormat(
        "beir",
        "`corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` (or `dev`, or `train`)",
        "texts with `questions` by document and grade, without quotes",
        "Questions with the documents that answer them.",
        "as the data set's publisher says",
    ),
    GoldFormat(
        "chroma-chunking-eval",
        "`questions_df.csv` and `corpora/<id>.md`",
        "texts with `questions`: the passages that answer each",
        "Questions with the passages that answer them.",
        "MIT (questions); the texts are third parties'",
    ),
    GoldFormat(
        "conll",
        "`*.conll` or `*conll*.txt`: a token and its IO, IOB or IOB2 tag per line",
        "texts with `entities`",
        "Named entities, marked by people.",
        "as the data set's publisher says",
    ),
    GoldFormat(
        "grobid-header",
        "`*.header.tei.xml`, at any depth",
        "texts of heads of papers with `metadata`: title and authors",
        "Titles and authors in the heads of scientific papers.",
        "Apache-2.0 (labels); the texts are third parties'",
    ),
    GoldFormat(
        "htmldate-eval",
        "`eval_default.json` and `html/<file>.gz`",
        "web pages with `metadata`: day of publication",
        "Dates of publication of web pages.",
        "Apache-2.0 (labels); the pages are third parties'",
    ),
    GoldFormat(
        "icdar2013",
        "PDFs with `<name>-reg.xml` and `<name>-str.xml` beside them, at any depth",
        "the PDFs with `tables`: page, box, cells with spans",
        "Tables of the ICDAR 2013 table competition: regions and cells.",
        "MIT (as redistributed); the PDFs are governments'",
    ),
    GoldFormat(
        "languages",
        "text files named after ISO 639 codes (`de.txt`), a sentence per line",
        "texts of ten sentences with `language`",
        "Sentences by language.",
        "as the data set's publisher says",
    ),
    GoldFormat(
        "near-duplicates",
        "`<name>.train` (an id and a text per line) and `<name>.truth` (two ids per line)",
        "texts with `pairs`, complete",
        "Articles with the pairs of them that are near duplicates; all pairs are named.",
        "MIT (pairs); the articles are third parties'",
    ),
    GoldFormat(
        "olmocr-bench",
        "`*.jsonl` with assertions, and `pdfs/`",
        "the PDFs with `page_assertions`",
        "Unit tests of single pages: text present or absent, order, tables, formulas.",
        "Apache-2.0 (assertions, as published with the code); the pages are third parties'",
    ),
    GoldFormat(
        "presidio-research",
        "`*.json`: arrays of samples with `full_text` and `spans`",
        "texts with `pii`",
        "Synthetic sentences with the personal data in them.",
        "MIT",
    ),
    GoldFormat(
        "pubtabnet",
        "`*.jsonl` of PubTabNet 2, the images beside it or in the folder of their split",
        "images of tables with `tables` and `text`, a row a line",
        "Images of tables from articles of PubMed Central, with their HTML.",
        "CDLA-Permissive-1.0 (annotations); the images are third parties'",
    ),
    GoldFormat(
        "re-docred",
        "`*.json` with documents of DocRED, at any depth",
        "texts with `entities`: mentions and relations",
        "Entities and relations of Wikipedia's articles, marked by people.",
        "MIT (labels); the texts are Wikipedia's",
    ),
    GoldFormat(
        "scifact",
        "`corpus-*.jsonl` and `claims_*.jsonl`",
        "abstracts with `questions`: claims, and the sentences for or against each",
        "Claims with the sentences of abstracts that support or contradict them.",
        "CC-BY-4.0 (claims), ODC-By-1.0 (abstracts)",
    ),
    GoldFormat(
        "sroie",
        "`img/<id>.jpg` and `box/<id>.csv` (eight coordinates and the text); `key/<id>.json`, if any",
        "images of receipts with `text`, and `page_assertions`: the key fields stand there",
        "Text of scanned receipts, transcribed in capitals; lines in rows from the top.",
        "MIT (as redistributed); the licence of the scans is not stated",
    ),
    GoldFormat(
        "trec-qrels",
        "one `*qrels*` (four columns), one `*topics*` (id, tab, question), and `*corpus*.jsonl`",
        "texts with `questions` by document and grade, without quotes",
        "Questions with the documents that answer them.",
        "as the data set's publisher says",
    ),
    GoldFormat(
        "webmainbench",
        "`*.jsonl` with pages and their main content, at any depth",
        "web pages with `content`: the main content in Markdown",
        "Main content of web pages in Markdown, written by people.",
        "Apache-2.0 (labels); the pages are third parties'",
    ),
)
