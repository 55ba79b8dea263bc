"""The files that a run can be written as."""

from collections.abc import AsyncIterator
from enum import StrEnum

from agenteval.reporting.html import html_report
from agenteval.reporting.json_report import json_report
from agenteval.reporting.junit import junit_report
from agenteval.reporting.markdown import markdown_report
from agenteval.reporting.report import Lang, RunReport


class Format(StrEnum):
    HTML = "html"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"

    @property
    def suffix(self) -> str:
        """What files of this format end in."""
        return {Format.HTML: ".html", Format.JSON: ".json", Format.JUNIT: ".xml", Format.MARKDOWN: ".md"}[self]


def render(report: RunReport, as_: Format, lang: Lang) -> AsyncIterator[str]:
    """The file's text, to be written in UTF-8, in pieces of a case or so. JSON knows no language."""
    match as_:
        case Format.HTML:
            return html_report(report, lang)
        case Format.JSON:
            return json_report(report)
        case Format.JUNIT:
            return junit_report(report, lang)
        case Format.MARKDOWN:
            return markdown_report(report, lang)
