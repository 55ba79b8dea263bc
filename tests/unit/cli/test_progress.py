"""What is said of a run while it goes on."""

import io
import time

from agenteval.cli import progress
from agenteval.domain.outcome import CaseOutcome, Source, SuccessLevel
from agenteval.domain.scenario import EffectivePolicy
from agenteval.engine.progress import Progress, Stage

FAILURE = CaseOutcome(SuccessLevel.FAILURE, passed=False, policy=EffectivePolicy.of(), source=Source.RULES)


class Terminal(io.StringIO):
    encoding = "ascii"

    def isatty(self) -> bool:
        return True


def test_a_run_says_where_its_dialogs_are() -> None:
    shown = progress.Shown()
    now = Progress(12)
    shown.follow(now)
    assert str(shown) == "0/12 done, 0 failed, 0 unscored"
    for before, after, count in ((None, Stage.SLOT, 9), (Stage.SLOT, Stage.AGENT, 5), (Stage.AGENT, Stage.JUDGE, 2)):
        for _ in range(count):
            now.move(before, after)
    now.finished(FAILURE)
    assert str(shown) == "1/12 done, 1 failed, 0 unscored; now 4 queued, 3 with the agent, 1 with the judge"


def test_a_line_now_and_then_also_when_nothing_moves() -> None:
    out = io.StringIO()
    with progress.shown(quiet=False, out=out, every_s=0.005) as follow:
        follow(Progress(3))
        time.sleep(0.03)
    lines = out.getvalue().splitlines()
    assert len(lines) > 1
    assert set(lines[1:]) == {"0/3 done, 0 failed, 0 unscored"}


def test_a_short_run_prints_no_line_and_a_quiet_one_nothing() -> None:
    out = io.StringIO()
    with progress.shown(quiet=False, out=out) as follow:
        follow(Progress(3))
    with progress.shown(quiet=True, out=Terminal()) as follow:
        follow(Progress(3))
    assert out.getvalue() == ""


def test_a_terminal_has_a_bar_in_what_its_encoding_can_show() -> None:
    terminal = Terminal()
    with progress.shown(quiet=False, out=terminal) as follow:
        follow(Progress(3))
    assert "0/3 done" in terminal.getvalue()
    assert terminal.getvalue().isascii()
