"""An agent evaluated within a test, and what can be asserted of it."""

import asyncio
import inspect
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from io import StringIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias, TypeVar

from agenteval.bootstrap import app
from agenteval.channels.build import factory
from agenteval.datasets import targets
from agenteval.datasets.scenarios import load_all
from agenteval.domain import exact
from agenteval.domain.errors import AgentEvalError, InputError
from agenteval.domain.json_value import Json
from agenteval.domain.outcome import RuleResult, SuccessLevel
from agenteval.domain.records import AttemptView, CaseView, Run
from agenteval.domain.run_summary import AttemptFacts, Measure, MeasureName, RunSummary, Tally
from agenteval.domain.scenario import Scenario
from agenteval.domain.target import Target
from agenteval.domain.text import Language, language, visible
from agenteval.reporting.figures import DIGITS, apart, number
from agenteval.reporting.items import counted, items
from agenteval.reporting.labels import Labels
from agenteval.reporting.reading import Entry, broken, cause_text, holds, turn_lines
from agenteval.reporting.report import RunReport
from agenteval.reporting.terminal import print_report
from agenteval.rules.build import bind
from agenteval.services.runs import Plan
from agenteval.settings import load, variable
from agenteval.storage import attempts

T = TypeVar("T")
MOST = 1000
"""Repeats of a case, and dialogs at one time."""
NAMED = 3
"""Cases in the first line of a failure."""
Agent: TypeAlias = Callable[..., Any]
"""A function of the message, or of the message and the `Session`, async or not."""

_AGENTS = SimpleNamespace()
"""The functions under evaluation, as attributes: the channel for Python functions finds them by their place."""
_NUMBERS = count()


@dataclass(frozen=True)
class AgentEval:
    """`database` keeps the runs; `folder` is where paths are looked up first. Judge models come from the settings, as
    on the command line."""

    database: Path
    folder: Path

    def run(
        self,
        scenario: str | Path | Scenario,
        target: str | Path | Agent,
        *,
        repeats: int = 1,
        concurrency: int | None = None,
    ) -> "Result":
        """Hold the dialogs of a scenario with an agent and judge them.

        `scenario` is a file, a folder of them, or a Scenario; `target` a function, or a target file or short form as on
        the command line. A function is called in threads. `concurrency` dialogs are held at one time: as many as the
        target says, of a function one. Where an event loop is running it waits meanwhile: for an agent that needs it
        there is `run_async`. Raises AgentEvalError when the input is bad, or agent or judge cannot be reached.
        `repeats` and `concurrency` are 1..1000.
        """
        __tracebackhide__ = True
        try:
            return _in_own_loop(self._evaluate(scenario, target, repeats, concurrency, loop=None))
        except AgentEvalError as error:
            raise error.with_traceback(None) from None  # what a person can act on says where; the code does not matter

    async def run_async(
        self,
        scenario: str | Path | Scenario,
        target: str | Path | Agent,
        *,
        repeats: int = 1,
        concurrency: int | None = None,
    ) -> "Result":
        """The same from an async test; what an async function awaits happens in the test's event loop."""
        __tracebackhide__ = True
        evaluation = self._evaluate(scenario, target, repeats, concurrency, loop=asyncio.get_running_loop())
        try:
            return await asyncio.to_thread(_in_own_loop, evaluation)
        except AgentEvalError as error:
            raise error.with_traceback(None) from None

    async def _evaluate(
        self,
        scenario: str | Path | Scenario,
        given: str | Path | Agent,
        repeats: int,
        concurrency: int | None,
        *,
        loop: asyncio.AbstractEventLoop | None,
    ) -> "Result":
        for name, wanted in (("repeats", repeats), ("concurrency", concurrency)):
            if wanted is not None and not 1 <= wanted <= MOST:
                raise InputError(f"{name} must be within 1..{MOST}, not {wanted}")
        chosen = [scenario] if isinstance(scenario, Scenario) else scenarios(scenario, self.folder)
        settings = load().model_copy(update={"database_url": str(self.database)})
        stop = asyncio.Event()
        with _target(given, self.folder, concurrency, loop) as (target, source):
            async with app(settings) as wired:
                run = await wired.runs.create(Plan(chosen, target, source, repeats=repeats), stop)
                if run is None:
                    raise AssertionError("nobody sets `stop`")
                run = await wired.runs.work(run, target, stop)
                return Result(run, tuple([case async for case in attempts.views(wired.store, run.id)]), self.database)


@dataclass(frozen=True)
class Result:
    """What came of a run, or of one of its cases. `cases` hold every turn, result and outcome."""

    run: Run
    cases: tuple[CaseView, ...] = field(repr=False)
    database: Path

    def case(self, case_id: str) -> "Result":
        """The result of one case alone. Raises KeyError."""
        found = tuple(case for case in self.cases if case.place.case.id == case_id)
        if not found:
            raise KeyError(f"there is no case {case_id!r}, but {', '.join(c.place.case.id for c in self.cases)}")
        return replace(self, cases=found)

    @property
    def attempts(self) -> tuple[AttemptView, ...]:
        """Those that count: one for each repeat of each case."""
        return tuple(attempt for case in self.cases for attempt in _counted(case))

    @property
    def summary(self) -> RunSummary:
        """The rates, each with how many attempts were measured."""
        tally = Tally()
        for case in self.cases:
            facts = [
                AttemptFacts(
                    outcome=attempt.outcome,
                    latencies_ms=[turn.latency_ms for turn in attempt.dialog],
                    details=[result.detail for result in attempt.results],
                    causes=[result.cause for result in attempt.results if result.cause],
                )
                for attempt in _counted(case)
                if attempt.outcome
            ]
            tally.add_case(case.place.case.id, facts)
        return tally.summary()

    def assert_success(self) -> None:
        """Every attempt is a success. A partial success is none, and neither is what could not be judged."""
        __tracebackhide__ = True
        if failed := self._failed():
            self._fail(f"{len(failed)} of {len(self.cases)} cases are no success", failed)

    def assert_rate(self, at_least: float | str, *, measure: str = "success_rate", max_unscored: int = 0) -> None:
        """A rate is `at_least` so high, compared exactly: 9 of 10 reach 0.9. `measure` is `success_rate`, `pass_rate`,
        `intent_accuracy` or `avg_completion`; in `max_unscored` attempts it may be unknown. Raises ValueError for a
        rate outside 0..1 and for another measure."""
        __tracebackhide__ = True
        if measure not in set(MeasureName):
            raise ValueError(f"there is no measure {measure!r}, but {', '.join(MeasureName)}")
        wanted = _rate(at_least)
        found: Measure = getattr(self.summary, measure)
        unscored = found.of - found.n
        if found.value is None or not exact.at_least(found.value, wanted) or unscored > max_unscored:
            digits = DIGITS if found.value is None else apart(found.value, wanted)
            value = "was not measured" if found.value is None else f"is {number(found.value, digits)}"
            message = (
                f"{measure} {value}, wanted {number(wanted, digits)}; measured in {found.n} of {found.of} attempts"
            )
            self._fail(message, self._failed())

    def _failed(self) -> list[CaseView]:
        return [case for case in self.cases if not _succeeds(case)]

    def _fail(self, message: str, told: list[CaseView]) -> NoReturn:
        __tracebackhide__ = True
        lang = language("\n".join(message for case in self.cases for message in case.place.case.messages))
        report = _in_own_loop(self._report(told, lang))
        again = f"AGENTEVAL_DATABASE_URL={self.database} agenteval report {self.run.id}"
        first = ": ".join(filter(None, [message, "; ".join(_in_short(told, Labels(lang)))]))
        raise AssertionError(f"{first}\n\n{report}\n{again}")

    async def _report(self, told: list[CaseView], lang: Language) -> str:
        async def cases() -> AsyncIterator[CaseView]:
            for case in told:
                yield case

        out = StringIO()
        await print_report(RunReport(self.run, self.summary, cases), lang, out)
        return out.getvalue() + "".join(_dialogs(told, Labels(lang)))


def _in_short(told: Sequence[CaseView], labels: Labels) -> Iterator[str]:
    """The first cases without success, each by its first such attempt: all that pytest's summary has room for."""
    for entry in [next(_without_success(case)) for case in told[:NAMED]]:
        what = [*broken(entry, labels), *(why for result in entry.results if (why := _shortfall(result, labels)))]
        yield " ".join(visible(labels("colon").join([entry.name(labels), labels.listed(what)])).split())
    if len(told) > NAMED:
        yield f"{len(told) - NAMED} more"


def _shortfall(result: RuleResult, labels: Labels) -> str:
    """A rule that did not pass, or of which something is missing, with what; empty when it is fulfilled."""
    items_ = [item for item in items(result.detail) if item.counts]
    if not result.applicable or (holds(result) and all(item.good for item in items_)):
        return ""
    what = counted(result, labels) or (cause_text(result, labels) if result.cause else result.reason)
    return labels("aside", what=result.label, note=what) if what else result.label


def _dialogs(told: Iterable[CaseView], labels: Labels) -> Iterator[str]:
    """What was said where there was no success."""
    for entry in (entry for case in told for entry in _without_success(case)):
        turns = entry.attempt.dialog if entry.attempt else ()
        lines = [line for turn in turns for line in turn_lines(turn, labels)]
        yield "\n".join(["", entry.name(labels), *(f"  {visible(line)}" for line in lines), ""])


def _without_success(case: CaseView) -> Iterator[Entry]:
    """Its attempts, or itself if there is none."""
    attempts = _counted(case)
    for attempt in attempts:
        if not _is_success(attempt):
            yield Entry(case.place, attempt, attempt.key.repeat if len(attempts) > 1 else None)
    if not attempts:
        yield Entry(case.place, None)


def _rate(given: float | str) -> Fraction:
    __tracebackhide__ = True
    try:
        rate = exact.exact(given)
    except ValueError as error:
        raise ValueError(f"at_least {error}") from None
    if not 0 <= rate <= 1:
        raise ValueError(f"at_least must be within 0..1, not {given}; 90 % is 0.9")
    return rate


def _counted(case: CaseView) -> list[AttemptView]:
    return [attempt for attempt in case.attempts if not case.superseded(attempt)]


def _succeeds(case: CaseView) -> bool:
    attempts = _counted(case)
    return bool(attempts) and all(map(_is_success, attempts))


def _is_success(attempt: AttemptView) -> bool:
    return attempt.outcome is not None and attempt.outcome.success_level is SuccessLevel.SUCCESS


# ---- what is given ---------------------------------------------------------------------------------------------------


def scenarios(path: str | Path, folder: Path) -> list[Scenario]:
    """Of a file or a folder; what their authors should look at becomes warnings. Raises InputError."""
    loaded = load_all([Path(_found(path, folder))], bind)
    for warning in (warning for one in loaded for warning in one.warnings):
        warnings.warn(warning, stacklevel=2)
    return [one.scenario for one in loaded]


def _found(given: str | Path, folder: Path) -> str:
    """A file beside the test, or else in the working directory, if it is one at all."""
    beside = folder / given
    return str(beside if beside.exists() else given)


@contextmanager
def _target(
    given: str | Path | Agent, folder: Path, concurrency: int | None, loop: asyncio.AbstractEventLoop | None
) -> Iterator[tuple[Target, Mapping[str, Json]]]:
    """The target, and what is kept of it in the run."""
    if not callable(given):
        text = _found(given, folder)
        target, written = targets.load(text, factory, variable), targets.source(text)
        at_once = concurrency or target.max_concurrency
        yield replace(target, max_concurrency=at_once), {**written, "max_concurrency": at_once}
        return
    name = _name(given)
    number = f"agent_{next(_NUMBERS)}"
    setattr(_AGENTS, number, _called(given, loop))
    try:
        params = {"callable": f"{__name__}:_AGENTS.{number}"}
        written = {"name": name, "channel": "python", "params": {"callable": f"{given.__module__}:{name}"}}
        yield Target(name, "python", params, max_concurrency=concurrency or 1), written
    finally:
        delattr(_AGENTS, number)


def _called(given: Agent, loop: asyncio.AbstractEventLoop | None) -> Agent:
    """As the channel calls it: with message and session. What it awaits happens in `loop`, if there is one. Raises
    InputError when it takes neither both nor the message alone."""
    with_session = _takes(given, "message", "session")
    if not with_session and not _takes(given, "message"):
        raise InputError(
            f"the agent {_name(given)}{inspect.signature(given)} cannot be called with a message",
            fix="it must take (message) or (message, session)",
        )

    async def awaited(answer: Awaitable[Any]) -> Any:
        return await answer

    def called(message: str, session: Any) -> Any:
        answer = given(message, session) if with_session else given(message)
        if loop and inspect.isawaitable(answer):
            return asyncio.run_coroutine_threadsafe(awaited(answer), loop).result()
        return answer

    return called


def _takes(given: Agent, *arguments: str) -> bool:
    try:
        inspect.signature(given).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # of some that are not written in Python nothing is known
        return len(arguments) == 1
    return True


def _name(given: Agent) -> str:
    return str(getattr(given, "__qualname__", type(given).__qualname__))


# ---- where it happens ------------------------------------------------------------------------------------------------


def _in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Whether a loop runs here or not, and without a trace in the process of the tests: an agent may print, and be
    imported from anywhere."""

    def run() -> T:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:  # sets no loop for those that follow
            return runner.run(coroutine)

    path, stdout = sys.path[:], sys.stdout
    try:
        if not _a_loop_runs():
            return run()
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(run).result()
    finally:
        sys.path[:], sys.stdout = path, stdout


def _a_loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
