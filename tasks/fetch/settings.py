"""Settings of the fetch stage."""

from typing import Literal

from pydantic import Field

from tasks.documents.cage import CageLimits
from tasks.stage import StageSettings


class FetchSettings(StageSettings):
    """How documents are taken from their sources."""

    max_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1, description="Larger documents go to quarantine; counted after decompression."
    )
    connect_seconds: float = Field(default=10.0, gt=0, description="Time limit for a connection.")
    read_seconds: float = Field(default=30.0, gt=0, description="Time limit for the next bytes of an answer.")
    total_seconds: float = Field(
        default=300.0, gt=0, description="Time limit for one attempt at a document, redirects and body included."
    )
    retries: int = Field(
        default=3, ge=0, le=10, description="Further attempts after 408, 425, 429, 5xx, a timeout or a lost connection."
    )
    backoff_seconds: float = Field(
        default=0.5, ge=0, description="Wait before the first further attempt; doubled each time."
    )
    max_wait_seconds: float = Field(
        default=30.0,
        ge=0,
        description="Longest wait before an attempt, also where a server's Retry-After asks for more.",
    )
    max_redirects: int = Field(default=10, ge=0, le=50, description="Redirects followed for one document.")
    parallel_requests: int = Field(
        default=4, ge=1, le=64, description="Documents of a batch requested at the same time."
    )
    robots: Literal["obey", "ignore"] = Field(
        default="obey",
        description="Whether a server's robots.txt decides what is read (by the first word of `user_agent`), and its "
        "Crawl-delay how often. A server whose robots.txt cannot be had for now is not asked for anything.",
    )
    seconds_between_requests: float = Field(
        default=0.0,
        ge=0,
        description="Shortest time between two requests to one host, over all batches; a longer Crawl-delay counts "
        "instead.",
    )
    max_crawl_delay_seconds: float = Field(
        default=60.0, ge=0, description="Longest Crawl-delay that is kept to; of a longer one this much."
    )
    user_agent: str = Field(
        default="corpusgate/0.1", min_length=1, description="How the client names itself to web servers."
    )
    max_archive_ratio: float = Field(
        default=200.0,
        gt=1,
        description="Members of archives, and gzipped files of rows, that unpack to more than this many times their "
        "packed size are refused; those of up to 1 MiB never.",
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(seconds_per_document=3600),
        description="Time, memory and number of the worker processes that read archives, files of rows and sitemaps. "
        "Listing one such file counts as a document, and so does one batch's share of it.",
        json_schema_extra={"shapes_output": False},
    )
    allow_private_addresses: bool = Field(
        default=False,
        description="Allow requests to loopback, private and link-local addresses; otherwise they are refused at "
        "every redirect, so that a URL cannot reach into the network the pipeline runs in.",
    )
