"""Settings of the metadata stage."""

from datetime import date

from pydantic import Field

from tasks.documents.cage import CageLimits
from tasks.stage import StageSettings


class MetadataSettings(StageSettings):
    """How title and dates are chosen."""

    search_page_dates: bool = Field(
        True, description="Look for the date of publication on web pages that declare none (htmldate)."
    )
    trust_file_dates: bool = Field(
        False,
        description="Take the creation date inside PDF and Office files for the date of publication, where the first "
        "pages state none. It tells when a file was made, not when the text was published.",
    )
    latest_date: date = Field(
        date(2035, 12, 31),
        description="A date after this is taken for a mistake. Fixed, not today, so that results do not change by day.",
    )
    limits: CageLimits = Field(
        default_factory=lambda: CageLimits(),
        description="Time, memory and number of the worker processes that search web pages for dates. Where they equal "
        "those of parse, the workers are the same.",
        json_schema_extra={"shapes_output": False},
    )
