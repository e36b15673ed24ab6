"""Settings of the normalize stage."""

from typing import Literal

from pydantic import Field

from tasks.stage import StageSettings


class NormalizeSettings(StageSettings):
    """What clean text means; each step can be switched off.
    Prose goes through all of them. Table cells do too, but for line ends and hyphens at line ends: rows and cells stay
    where they are. Formulas keep their hyphens. Code stays as it is written, but for one kind of line end, control
    characters, and blank lines at its edges.
    """

    repair_mojibake: bool = Field(
        True,
        description="Repair text that was decoded with the wrong encoding (ftfy), in prose and tables, not in code.",
    )
    form: Literal["NFC", "none"] = Field("NFC", description="Unicode normalization form of the clean text.")
    fold_presentation_forms: bool = Field(
        True,
        description="Write ligatures and other presentation forms (\ufb01, Arabic contextual forms, half-width "
        "katakana, full-width Latin letters and digits) as plain letters; superscripts and fractions stay.",
    )
    join_line_end_hyphens: bool = Field(
        True, description="Join words that a line end broke, and keep the hyphens that belong to the word."
    )
    fold_hyphens: bool = Field(True, description="Write U+2010 and U+2011 as the ASCII hyphen.")
    fold_line_ends: bool = Field(
        True, description="Turn line ends inside prose into a space; code and tables keep them."
    )
    fold_spaces: bool = Field(True, description="Turn no-break and other Unicode spaces into a space and fold runs.")
    remove_invisible: bool = Field(
        True, description="Remove zero-width characters, soft hyphens, bidi controls and other default-ignorables."
    )
    remove_controls: bool = Field(True, description="Remove control characters other than tab and line feed.")
