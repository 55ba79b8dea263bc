"""One escaper for each format. Whatever an agent, a user or a model wrote stays text: it cannot become structure.

Control, bidi and zero-width characters are shown as escapes everywhere but in JSON and CSV, which keep the original.
"""

import html
import re

from agenteval.domain.text import visible

# Links that GitHub makes of bare text, too, and what is special only where a line begins. A "_" inside a word is text.
_MARKDOWN = re.compile(r"[\\`*\[\]<&|~$@#]|(?<![^\W_])_|_(?![^\W_])|:(?=/)|(?<=www)\.|^[-+=>]", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
_BACKTICKS = re.compile("`+")
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What spreadsheets may take for a formula, also after what they leave out (OWASP, "CSV Injection").
_FORMULA = re.compile("[\\s\x00-\x1f\ufeff']*[-=+@－＝＋＠]|'*[\t\r\n]")
_PLAIN_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
_XML_BLANKS = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def for_html(text: str) -> str:
    """For element content and for quoted attributes."""
    return html.escape(visible(text))


def for_markdown(text: str) -> str:
    """One line of plain text for a paragraph, a heading or a table cell: what could be markup is escaped."""
    escaped = _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split()))
    return _LIST_NUMBER.sub(r"\1\\\2", escaped)


def markdown_fence(text: str) -> str:
    """A block of text as it was said."""
    shown = visible(text).replace("\r\n", "\n")
    ticks = "`" * max(3, _longest_run(shown) + 1)
    return f"{ticks}text\n{shown}\n{ticks}\n"


def for_xml(text: str) -> str:
    """For element content. What XML cannot hold is shown as an escape."""
    return html.escape(_xml_characters(text), quote=False).replace("\r", "&#13;")


def for_xml_attribute(text: str) -> str:
    escaped = html.escape(_xml_characters(text))
    return re.sub("[\t\n\r]", lambda m: _XML_BLANKS[m.group()], escaped)


def for_terminal(text: str, encoding: str = "utf-8") -> str:
    """The text without control over the terminal, and without what the terminal's encoding cannot show."""
    return visible(text).encode(encoding, "backslashreplace").decode(encoding)


def for_csv(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: an apostrophe stands before what could begin one, unless it is a
    plain number. Nothing is lost: it stands before a text that begins with apostrophes and such a thing, too."""
    return f"'{text}" if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text) else text


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _xml_characters(text: str) -> str:
    return _NOT_XML.sub(lambda m: f"\\u{ord(m.group()):04x}", visible(text))
