"""What the judge is asked for: the user's intents, and what became of each."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self, TypeVar

from agenteval.domain.forms import AgentQuote, Form, Quote, Quotes, ToolQuote, UserQuote, spoken
from agenteval.domain.quick_init import quick_init
from agenteval.domain.text import is_blank


class State(StrEnum):
    """Only active intents count. `conditional`: asked for under a condition that did not occur."""

    ACTIVE = "active"
    WITHDRAWN = "withdrawn"
    REPLACED = "replaced"
    CONDITIONAL = "conditional"


class Verdict(StrEnum):
    MET = "met"
    PARTLY_MET = "partly_met"
    UNMET = "unmet"


class ReasonCode(StrEnum):
    """Why an intent is not met: it waits for user, queue or handover; the agent says it cannot; declines by policy;
    tried and failed; did not respond to it."""

    PENDING = "pending"
    BLOCKED = "blocked"
    REFUSED = "refused"
    FAILED = "failed"
    IGNORED = "ignored"
    NONE = "none"


@quick_init
@dataclass(frozen=True)
class Judgement(Form):
    kind: ClassVar[str] = "completeness"

    reason: str
    state: State
    agent_quote: AgentQuote | None
    tool_quote: ToolQuote | None
    verdict: Verdict
    reason_code: ReasonCode

    def __post_init__(self) -> None:
        if self.state is not State.ACTIVE:
            return
        if self.verdict is not Verdict.UNMET and self.agent_quote is None and self.tool_quote is None:
            raise ValueError(f"{self.verdict} needs the agent's words or the tool result that show it")
        if (self.verdict is Verdict.MET) != (self.reason_code is ReasonCode.NONE):
            raise ValueError(f"{self.verdict} does not go with the reason_code {self.reason_code}")

    @property
    def word(self) -> str:
        return self.verdict if self.state is State.ACTIVE else self.state

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        gone: dict[str, tuple[type[Quote], ...]] = {state: () for state in State if state is not State.ACTIVE}
        return {Verdict.MET: (AgentQuote,), Verdict.UNMET: (), Verdict.PARTLY_MET: (AgentQuote,), **gone}

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        """Why an intent is not met is not asked: the agent failed it."""
        agent, tool = spoken(quotes, AgentQuote), spoken(quotes, ToolQuote)
        state, verdict = (State.ACTIVE, Verdict(word)) if word in set(Verdict) else (State(word), Verdict.UNMET)
        code = ReasonCode.NONE if verdict is Verdict.MET else ReasonCode.FAILED
        return cls(reason, state, agent, tool, verdict, code)

    def ballot(self) -> Hashable:
        return (self.state.value, self.verdict.value) if self.state is State.ACTIVE else self.state.value

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """The latest window that tells something: one that shows nothing of an intent finds it ignored or pending, or
        its condition not occurred."""
        gone = [part for part in parts if part.state in {State.WITHDRAWN, State.REPLACED}]
        active = [part for part in parts if part.state is State.ACTIVE]
        telling = [part for part in active if part.reason_code not in {ReasonCode.IGNORED, ReasonCode.PENDING}]
        return (gone or telling or active or list(parts))[-1]


NO_RESPONSE = Judgement("", State.ACTIVE, None, None, Verdict.UNMET, ReasonCode.IGNORED)


@quick_init
@dataclass(frozen=True)
class Wanted(Form):
    quote: UserQuote
    text: str

    def __post_init__(self) -> None:
        if is_blank(self.text):
            raise ValueError("text is empty: say in short what the user wants")


@quick_init
@dataclass(frozen=True)
class JudgedIntent(Wanted):
    """A verdict that cannot be verified does not lose the intent."""

    salvage = Wanted
    judgement: Judgement


W = TypeVar("W", bound=Wanted)


@quick_init
@dataclass(frozen=True)
class Listed(Form):
    intents: tuple[Wanted, ...]

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        return cls(_merged([part.intents for part in parts]))


@quick_init
@dataclass(frozen=True)
class Found(Form):
    """Intents with their verdicts. Those of windows saw only a part of the dialog: they stand for the list alone."""

    intents: tuple[JudgedIntent, ...]

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        return cls(_merged([part.intents for part in parts]))


def _merged(windows: Sequence[Sequence[W]]) -> tuple[W, ...]:
    """What was asked in a turn that two windows share is taken from the first one that lists anything for it."""
    by_turn: dict[int, tuple[int, list[W]]] = {}
    for window, intents in enumerate(windows):
        for intent in intents:
            first, kept = by_turn.setdefault(intent.quote.turn, (window, []))
            if first == window:
                kept.append(intent)
    return tuple(intent for _, (_, kept) in sorted(by_turn.items()) for intent in kept)
