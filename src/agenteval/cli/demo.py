"""`agenteval demo`"""

import locale
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from agenteval.cli import reports
from agenteval.cli.invocation import Invocation
from agenteval.cli.loop import run_async, stopped_by_signals
from agenteval.cli.reports import Format
from agenteval.domain.text import Language

if TYPE_CHECKING:
    from agenteval.demo.evaluation import Part
    from agenteval.demo.faults import Finding
    from agenteval.reporting.report import RunReport

FOLDER = Path(".agenteval/demo")
NOT_AS_PLANTED = 1


def demo(
    context: typer.Context,
    html: Annotated[Path | None, typer.Option(help="Where the HTML report of the faulty agent goes.")] = None,
    folder: Annotated[Path, typer.Option("--dir", help="For the reports and the database.")] = FOLDER,
    lang: Annotated[
        Language | None, typer.Option("--lang", help="Only the dialogs in this language. [default: both]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Evaluate two agents that come with AgentEval: a good one, and one with planted faults.

    It needs no key and no service, and asks no model even if one is set. Ends with 1 when the good agent is not
    successful everywhere or a planted fault is not found."""
    from agenteval.bootstrap import app
    from agenteval.cli import output
    from agenteval.demo.evaluation import Part, evaluate
    from agenteval.demo.faults import find, not_successful
    from agenteval.settings import Settings

    invocation: Invocation = context.obj
    languages: list[Language] = [lang] if lang else ["zh", "en"]
    spoken = lang or _language()
    pages = {part: folder / f"{part}.html" for part in Part}
    if html:
        pages[Part.FAULTY] = html
    database = folder / "agenteval.db"
    output.writable(*pages.values(), reads=[database])

    async def evaluated() -> int:
        async with app(Settings(database_url=str(database))) as wired:
            with stopped_by_signals(invocation.note) as stop:
                runs = await evaluate(wired, languages, stop)
            if stop.is_set():
                return stop.code
            found = {part: await reports.report_of(wired, run) for part, run in runs.items()}
            for part, page in pages.items():
                await reports.write(found[part], {Format.HTML: page}, spoken)
            findings = await find(found[Part.FAULTY], languages)
            failed = await not_successful(found[Part.GOOD])
            if as_json:
                await _print_json(found, findings, pages)
            else:
                await _print(found, findings, pages, spoken)
        for finding in findings:
            if not finding.found:
                invocation.note(f"error: the planted fault {finding.planted.place} of {finding.case_id} was not found")
        if failed:
            invocation.note(f"error: the good agent is not successful in {', '.join(failed)}")
        return NOT_AS_PLANTED if failed or not all(finding.found for finding in findings) else 0

    raise typer.Exit(run_async(evaluated()))


def _language() -> Language:
    """That of the system; both are spoken in the dialogs."""
    return "zh" if locale.setlocale(locale.LC_CTYPE).startswith(("zh", "Chinese")) else "en"


async def _print_json(
    found: "Mapping[Part, RunReport]", findings: "Sequence[Finding]", pages: "Mapping[Part, Path]"
) -> None:
    from agenteval.cli import output
    from agenteval.reporting.json_report import json_report

    documents = {part: "".join([piece async for piece in json_report(report)]) for part, report in found.items()}
    output.json(
        {
            "faults": [finding.as_json() for finding in findings],
            "html": {part.value: str(page) for part, page in pages.items()},
            "reports": {part.value: orjson.Fragment(document) for part, document in documents.items()},
        }
    )


async def _print(
    found: "Mapping[Part, RunReport]", findings: "Sequence[Finding]", pages: "Mapping[Part, Path]", spoken: Language
) -> None:
    from agenteval.cli.output import people
    from agenteval.demo.evaluation import Part
    from agenteval.reporting.labels import Labels
    from agenteval.reporting.reading import entries, result_status
    from agenteval.reporting.terminal import print_side_by_side

    words, labels = WORDS[spoken], Labels(spoken)
    people(words["intro"], "")
    await print_side_by_side([found[Part.GOOD], found[Part.FAULTY]], spoken, sys.stdout)
    people("", words["planted"])
    for planted in dict.fromkeys(finding.planted for finding in findings):
        people(f"  {planted.what[spoken]}")
        item = f"{labels(f'kind.{planted.kind}')} {planted.name}"
        place = ", ".join((item, labels("turn_n", n=planted.turn + 1), labels(f"item.{planted.status}")))
        for finding in findings:
            if finding.planted is planted:
                people(f"    {words['found' if finding.found else 'not_found']}  {finding.case_id}: {place}")
    people("", words["needs_judge"])
    async for entry in entries(found[Part.NEEDS_JUDGE]):
        people(*(f"  {result.label}: {result_status(result, labels)}" for result in entry.results))
    people("", words["reports"], *(f"  {page}" for page in pages.values()))
    people("", words["next"], *(f"  {line}" for line in words["steps"].splitlines()))


WORDS: "Mapping[Language, Mapping[str, str]]" = {
    "zh": {
        "intro": "两个预约维修的演示智能体，相同的对话：一个正常，一个埋有错误。由代码判定，没有使用模型。",
        "planted": "埋下的错误，报告中是否指出：",
        "found": "已指出",
        "not_found": "未发现!",
        "needs_judge": "场景没有写明期望值时，代码无从判定同样的对话，并会如实说明：",
        "reports": "HTML 报告：",
        "next": "接下来：",
        "steps": "评估自己的智能体：agenteval init\n"
        "让模型评审：设置 AGENTEVAL_JUDGE_BASE_URL、AGENTEVAL_JUDGE_MODEL、AGENTEVAL_JUDGE_API_KEY，"
        "再运行 agenteval doctor\n"
        "了解更多：agenteval --help，以及项目的 docs/README.md",
    },
    "en": {
        "intro": "Two demo agents that book repairs, in the same dialogs: a good one, and one with planted faults. "
        "Judged by code, without a model.",
        "planted": "The planted faults, and whether the report names them:",
        "found": "named",
        "not_found": "NOT FOUND",
        "needs_judge": "Without expected values in the scenario code cannot decide such a dialog, and says so:",
        "reports": "HTML reports:",
        "next": "Next:",
        "steps": "your own agent: agenteval init\n"
        "a model as judge: set AGENTEVAL_JUDGE_BASE_URL, AGENTEVAL_JUDGE_MODEL and AGENTEVAL_JUDGE_API_KEY, then"
        " agenteval doctor\n"
        "more: agenteval --help, and docs/README.md of the project",
    },
}
