"""Runs found by their id, and their reports on stdout or in files."""

import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval.domain.text import Language

if TYPE_CHECKING:
    from agenteval.bootstrap import App
    from agenteval.domain.records import CaseView, Run
    from agenteval.reporting.comparison import Section
    from agenteval.reporting.report import RunReport

LAST = "last"


class Format(StrEnum):
    TERMINAL = "terminal"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    HTML = "html"


FILES = {
    Format.HTML: "report.html",
    Format.JUNIT: "junit.xml",
    Format.MARKDOWN: "report.md",
    Format.JSON: "report.json",
}
"""What the reports of a folder are called."""

Lang = Annotated[
    Language | None,
    typer.Option(
        "--lang",
        help="Language of the report's own words; reasons are in that of their dialog. [default: that of the dialogs]",
    ),
]


async def find(app: "App", reference: str) -> "Run":
    """The run of an id, or the newest. Raises NotFound."""
    from agenteval.storage import runs

    return await (runs.latest(app.store) if reference == LAST else runs.get(app.store, reference))


async def report_of(app: "App", run: "Run") -> "RunReport":
    from agenteval.reporting.report import RunReport
    from agenteval.storage import attempts

    return RunReport(
        run,
        await app.runs.summary(run),
        partial(attempts.views, app.store, run.id),
        await app.reviews.figures(run),
    )


async def show(report: "RunReport", form: Format, lang: Language | None) -> None:
    """On stdout; in the language of the dialogs, unless the terminal cannot show it."""
    from agenteval.cli import output
    from agenteval.reporting.report import language_of
    from agenteval.reporting.terminal import print_report

    if form is Format.TERMINAL:
        await print_report(report, lang or await spoken(report.cases()), sys.stdout)
        return
    async for piece in _pieces(report, form, lang or await language_of(report.cases())):
        output.machines(piece)


async def spoken(cases: "AsyncIterator[CaseView]") -> Language:
    """The language of its dialogs, unless the terminal cannot show it."""
    from agenteval.cli import output
    from agenteval.reporting.report import language_of

    return await language_of(cases) if output.shows("中文") else "en"


def show_sections(sections: "Iterable[Section]", lang: Language) -> None:
    from agenteval.reporting.terminal import print_sections

    print_sections(sections, lang, sys.stdout)


async def write(report: "RunReport", paths: Mapping[Format, Path], lang: Language | None) -> None:
    """Into files, in UTF-8. Raises StorageError for those that cannot be written, once the others are; what was there
    stays then."""
    from agenteval.cli import output
    from agenteval.domain.errors import StorageError
    from agenteval.reporting.report import language_of
    from agenteval.reporting.terminal import print_report

    lang = lang or await language_of(report.cases())
    failed = []
    for form, path in paths.items():
        try:
            with output.replacing(path) as file:
                if form is Format.TERMINAL:
                    await print_report(report, lang, file)
                else:
                    async for piece in _pieces(report, form, lang):
                        file.write(piece)
        except BrokenPipeError:
            raise  # `-o /dev/stdout | head`
        except OSError as error:
            failed.append(f"{path}: cannot be written: {error.strerror}")
    if failed:
        raise StorageError("\n".join(failed))


def _pieces(report: "RunReport", form: Format, lang: Language) -> AsyncIterator[str]:
    match form:
        case Format.MARKDOWN:
            from agenteval.reporting.markdown import markdown_report

            return markdown_report(report, lang)
        case Format.JUNIT:
            from agenteval.reporting.junit import junit_report

            return junit_report(report, lang)
        case Format.HTML:
            from agenteval.reporting.html import html_report

            return html_report(report, lang)
        case Format.CSV:
            from agenteval.reporting.csv_report import csv_report

            return csv_report(report)
        case Format.JSONL:
            from agenteval.reporting.json_report import jsonl_report

            return jsonl_report(report)
        case _:
            from agenteval.reporting.json_report import json_report

            return json_report(report)
