"""Settings of the language stage."""

from pydantic import Field

from tasks.stage import StageSettings


class LanguageSettings(StageSettings):
    """How much of a text is looked at, and how sure the answer must be."""

    windows: int = Field(8, ge=1, le=64, description="Most windows that are looked at, spread evenly over the text.")
    window_characters: int = Field(125, ge=50, le=5000, description="Length of a window.")
    min_letters: int = Field(12, ge=1, description="Fewest letters in the windows for an answer other than `und`.")
    min_confidence: float = Field(0.4, ge=0, le=1, description="Confidence below which the answer is `und`.")
    sure_confidence: float = Field(0.9, ge=0, le=1, description="Confidence from which the windows need not vote.")
    sections: bool = Field(True, description="Tell the language of each section too, and from that, mixed documents.")
    section_min_letters: int = Field(
        60, ge=1, description="Fewest letters in a section for an answer other than `und`."
    )
    mixed_share: float = Field(
        0.1,
        gt=0,
        le=0.5,
        description="A document is mixed when two languages have each this share of the characters whose language is "
        "known, and `mixed_characters` of them.",
    )
    mixed_characters: int = Field(200, ge=1, description="Fewest characters of a language in a mixed document.")
    min_share: float = Field(
        0.55, ge=0, le=1, description="Share of the windows' votes that the language must have, else it is `und`."
    )
