"""What a configuration may say about where documents come from: a record per kind of source."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

SourceName: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[^:\x00-\x1f\x7f]+$",
        description="Name of the source, without a colon; it is part of every document's identity.",
    ),
]
"""Labels and ids name a document `source:path`: with a colon in the name two documents could share one."""


OnRemoved: TypeAlias = Annotated[
    Literal["delete", "retain"],
    Field(
        description="What becomes of a document that the source no longer has: it leaves the index (`delete`), or "
        "stays in it as it was (`retain`).",
    ),
]


class FolderSource(BaseModel):
    """A folder on this machine. Globs are matched against the path below `root`; `**` stands for any folders.

    A hidden file or folder (leading dot) is taken only where an include pattern names its dot. Symbolic links are
    passed over unless `follow_symlinks`; then those that lead out of `root` are refused, one by one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SourceName
    root: Path = Field(description="The folder. Relative to the configuration file.")
    include: tuple[str, ...] = Field(("**/*",), description="Globs of the files to take.")
    exclude: tuple[str, ...] = Field((), description="Globs of files and folders to leave out.")
    follow_symlinks: bool = Field(False, description="Whether symbolic links inside the folder are followed.")
    on_source_removed: OnRemoved = "delete"


class FileSource(FolderSource):
    """A folder of files, each of which is a document."""

    type: Literal["files"] = "files"


class RecordsSource(FolderSource):
    """Files of rows, each of which is a document: JSON Lines (also gzipped) and Parquet, told apart by their bytes.

    A document is named `<file>#<id>`. A row that cannot be read goes to quarantine under its line.
    """

    type: Literal["records"] = "records"
    include: tuple[str, ...] = Field(
        ("**/*.jsonl", "**/*.jsonl.gz", "**/*.ndjson", "**/*.ndjson.gz", "**/*.parquet"),
        description="Globs of the files to take.",
    )
    id: str = Field("id", description="Column that names a row within its file: text or a whole number.")
    content: str = Field("text", description="Column of the document itself: text, or bytes in Parquet.")
    media_type: str = Field(
        "text/plain", pattern=r"^[\w.+-]+/[\w.+-]+$", description="What the content is where no column says so."
    )
    media_type_column: str | None = Field(None, description="Column of each row's media type.")
    url: str | None = Field(
        None,
        description="Column of each row's URL. A row that has one is named by it instead of `<file>#<id>`, and so are "
        "its chunks in the index.",
    )
    modified: str | None = Field(
        None,
        description="Column of the time the source committed the row: a time stamp, ISO 8601 text (UTC where it names "
        "no zone) or seconds since 1970.",
    )


class WarcSource(FolderSource):
    """Web archives (WARC, also gzipped record by record). Each page answered with status 200 is a document by its URL.

    Of several captures of a URL the newest is taken. Everything else is counted as skipped, by reason.
    """

    type: Literal["warc"] = "warc"
    include: tuple[str, ...] = Field(("**/*.warc", "**/*.warc.gz"), description="Globs of the archives to take.")


class FsspecSource(BaseModel):
    """Any store that fsspec can list: `s3://`, `gs://`, `az://`, `file://`, `memory://`, or `zip::<URL of an archive>`.

    Globs are as for `files`. Keys and endpoints come from the environment alone (`AWS_…`, `FSSPEC_S3_ENDPOINT_URL`,
    fsspec's configuration files), so that no secret can reach a manifest or a log.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SourceName
    type: Literal["fsspec"] = "fsspec"
    url: str = Field(
        min_length=1, description="The folder, bucket or archive, without a password. A local path must be absolute."
    )
    include: tuple[str, ...] = Field(("**/*",), description="Globs of the objects to take, below `url`.")
    exclude: tuple[str, ...] = Field((), description="Globs of objects and folders to leave out.")
    on_source_removed: OnRemoved = "delete"

    @field_validator("url")
    @classmethod
    def _holds_no_secret(cls, url: str) -> str:
        for part in url.split("::"):
            if urlsplit(part).password is not None:
                raise ValueError("carries a password; set it in the environment, and remove it here")
        last = url.rpartition("::")[2]
        if "://" not in last and not last.startswith("/"):
            raise ValueError("is a relative path; write the whole one")
        if any(sign in url for sign in "*[]?"):
            raise ValueError("holds a glob or a query; name the folder here, and put globs into `include`")
        return url


class HttpSource(BaseModel):
    """Documents by URL: given here, in a text file with one URL a line, and in sitemaps. Links are not followed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SourceName
    type: Literal["http"] = "http"
    urls: tuple[str, ...] = Field(
        (),
        description="The URLs; each is one document, links are not followed. A secret is named by its environment "
        "variable, `?token=${API_TOKEN}`; one that stands there itself is refused.",
    )
    urls_file: Path | None = Field(
        None,
        description="A text file of URLs, blank lines and # comments allowed. Relative to the configuration file.",
    )
    sitemaps: tuple[str, ...] = Field(
        (),
        description="URLs of sitemaps or sitemap indexes (XML or text, also gzipped), or of a robots.txt that names "
        "them. Their `lastmod` is the commit time.",
    )
    include: tuple[str, ...] = Field(("**",), description="Globs over the whole URL of what sitemaps list.")
    exclude: tuple[str, ...] = Field((), description="Globs over the whole URL of what sitemaps list, to leave out.")
    trust_lastmod: bool = Field(
        True,
        description="Whether a page whose `lastmod` has not changed is taken as unchanged without a request; "
        "otherwise its server is asked.",
    )
    max_urls: int = Field(
        1_000_000, ge=1, description="Most URLs that sitemaps may list together; more stop the run before it begins."
    )
    on_source_removed: OnRemoved = "delete"

    @model_validator(mode="after")
    def _names_urls(self) -> "HttpSource":
        if not self.urls and self.urls_file is None and not self.sitemaps:
            raise ValueError("a source of type http needs `urls`, `urls_file` or `sitemaps`")
        return self


Source: TypeAlias = Annotated[
    FileSource | HttpSource | FsspecSource | RecordsSource | WarcSource, Field(discriminator="type")
]
