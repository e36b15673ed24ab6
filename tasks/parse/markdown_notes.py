"""Footnotes in Markdown, `[^label]: text`, which CommonMark takes for link definitions where they are one word."""

import re
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_DEFINITION = re.compile(r"\[\^[^\]\s]+\]:[ \t]*")
_INSIDE = "inside_footnote"
_TERMINATORS = ("paragraph", "reference", "blockquote", "list")


def with_footnotes(parser: MarkdownIt) -> MarkdownIt:
    """The parser, giving `footnote_open`, the blocks of the note and `footnote_close` for each definition.

    A note goes on with the lines of its paragraph, and with what follows an empty line indented.
    """
    parser.block.ruler.before("reference", "footnote", _footnote, {"alt": list(_TERMINATORS)})
    return parser


def _footnote(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    mark = _DEFINITION.match(_line(state, first))
    if not mark:
        return False
    if silent:
        return True
    following = _end_of_note(state, first, end)
    rest = dedent(state.getLines(first + 1, following, state.blkIndent, False)) if following > first + 1 else ""
    state.line = following
    if state.env.get(_INSIDE):  # a note in a note is text, however deep they are nested
        state.push("paragraph_open", "p", 1)
        inline = state.push("inline", "", 0)
        inline.content, inline.children = f"{_line(state, first)}\n{rest}".strip(), []
        state.push("paragraph_close", "p", -1)
        return True
    state.push("footnote_open", "", 1)
    state.env[_INSIDE] = True
    state.md.block.parse(f"{_line(state, first)[mark.end() :]}\n{rest}", state.md, state.env, state.tokens)
    state.env[_INSIDE] = False
    state.push("footnote_close", "", -1)
    return True


def _end_of_note(state: StateBlock, first: int, end: int) -> int:
    rules = state.md.block.ruler.getRules("paragraph")
    line, last, apart = first + 1, first + 1, False
    while line < end:
        if state.isEmpty(line):
            apart = True
        else:
            indented = state.sCount[line] - state.blkIndent >= 4
            if not indented and (apart or any(rule(state, line, end, True) for rule in rules)):
                break
            last = line + 1
        line += 1
    return last


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
