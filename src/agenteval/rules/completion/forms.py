"""The answers that are asked for, and what makes each of them a contradiction in itself.

What is positive or accusing carries its quotes: "filled" where the value is, "declined" the refusal after the question,
"contradicted" the user's words and the agent's. Only what is missing needs none.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Self

from agenteval.domain.forms import AgentQuote, Form, Quote, Quotes, ToolQuote, UserQuote, YesNo, spoken


class SlotVerdict(StrEnum):
    FILLED = "filled"
    STATED_ONLY = "stated_only"
    STALE = "stale"
    CONTRADICTED = "contradicted"
    INVALID = "invalid"
    FABRICATED = "fabricated"
    DECLINED = "declined"
    MISSING = "missing"


class Part(StrEnum):
    """What the agent did for a value."""

    OFFERED = "offered"
    ASKED = "asked"
    REPEATED = "repeated"
    NONE = "none"


_GIVEN = {
    SlotVerdict.FILLED,
    SlotVerdict.STATED_ONLY,
    SlotVerdict.STALE,
    SlotVerdict.CONTRADICTED,
    SlotVerdict.INVALID,
}


@dataclass(frozen=True)
class SlotAnswer(Form):
    kind: ClassVar[str] = "slot"

    reason: str
    user: tuple[UserQuote, ...]
    agent: AgentQuote | None
    tool: ToolQuote | None
    part: Part
    reasked: bool
    status: SlotVerdict

    def __post_init__(self) -> None:
        if self.status in _GIVEN:
            self._check_given()
        elif self.tool or (self.user and self.status is not SlotVerdict.DECLINED):
            raise ValueError(f"{self.status}, but a quote gives the value")
        if self.status is SlotVerdict.FABRICATED and self.agent is None:
            raise ValueError("fabricated needs the agent's words with the invented value")
        if self.status is SlotVerdict.DECLINED and not self._agent_before_user():
            raise ValueError("declined needs the agent's question and, in a later turn, the user's refusal")

    def _check_given(self) -> None:
        if not self.user and self.tool is None:
            raise ValueError(f"{self.status} needs the words of the user or the tool result that give the value")
        if self.part is Part.OFFERED and not self._agent_before_user():
            raise ValueError("offered needs the agent's offer and, in a later turn, the user's words of assent")
        if self.part is not Part.NONE and self.agent is None:
            raise ValueError(f"{self.part} needs the agent's words")
        if self.status in (SlotVerdict.STALE, SlotVerdict.CONTRADICTED) and not self._user_before_agent():
            raise ValueError(f"{self.status} needs the user's words and, after them, the agent's with another value")

    def _agent_before_user(self) -> bool:
        return self.agent is not None and bool(self.user) and self.agent.turn < self.last_user.turn

    def _user_before_agent(self) -> bool:
        return self.agent is not None and bool(self.user) and self.last_user.turn <= self.agent.turn

    @property
    def last_user(self) -> UserQuote:
        return max(self.user, key=lambda quote: quote.turn)

    @property
    def gives_value(self) -> bool:
        return self.status in _GIVEN

    @property
    def given_turn(self) -> int:
        """Where the value was given last, the assent to an offer included."""
        return self.last_user.turn if self.user else self.tool.turn if self.tool else 0

    @property
    def quotes(self) -> tuple[Quote, ...]:
        return (*self.user, *(quote for quote in (self.agent, self.tool) if quote is not None))

    @property
    def word(self) -> str:
        return self.status

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        return {
            SlotVerdict.FILLED: (UserQuote,),
            SlotVerdict.MISSING: (),
            SlotVerdict.CONTRADICTED: (UserQuote, AgentQuote),
            SlotVerdict.STATED_ONLY: (UserQuote,),
            SlotVerdict.STALE: (UserQuote, AgentQuote),
            SlotVerdict.INVALID: (UserQuote,),
            SlotVerdict.FABRICATED: (AgentQuote,),
            SlotVerdict.DECLINED: (AgentQuote, UserQuote),
        }

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        """The agent's words beside "filled" are those that repeat the value."""
        user, agent = spoken(quotes, UserQuote), spoken(quotes, AgentQuote)
        part = Part.REPEATED if agent and word == SlotVerdict.FILLED else Part.NONE
        return cls(reason, (user,) if user else (), agent, None, part, reasked=False, status=SlotVerdict(word))

    def ballot(self) -> Hashable:
        return self.status

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self | None:
        """The last window that knows the value wins, as the last value does; a refusal only where no value was given.
        A window may call invented what an earlier one saw given: that is left undecided."""
        given = [part for part in parts if part.status in _GIVEN]
        if not given:
            known = [part for part in parts if part.status is not SlotVerdict.MISSING]
            return known[-1] if known else next((p for p in parts if p.part is Part.ASKED), parts[-1])
        last = given[-1]
        after = parts[parts.index(last) + 1 :]
        if any(part.status is SlotVerdict.FABRICATED for part in after):
            return None
        earlier = tuple(quote for part in given[:-1] for quote in part.user if part.part is not Part.OFFERED)
        user = tuple(dict.fromkeys((*earlier, *last.user)))
        reasked = last.reasked or any(part.part is Part.ASKED for part in after)
        return replace(last, user=user, reasked=reasked)


@dataclass(frozen=True)
class ConfirmedSlotAnswer(SlotAnswer):
    """For rules that count only confirmed values: then the agent's part is voted on, too."""

    def ballot(self) -> Hashable:
        return self.status, self.part is not Part.NONE


class StepVerdict(StrEnum):
    DONE = "done"
    NOT_DONE = "not_done"
    CLAIM_CONTRADICTED = "claim_contradicted"


@dataclass(frozen=True)
class Shown(Form):
    """One place that shows a step."""

    agent: AgentQuote | None
    tool: ToolQuote | None

    def __post_init__(self) -> None:
        if self.agent is None and self.tool is None:
            raise ValueError("needs the words of the agent or the tool result that show it")


@dataclass(frozen=True)
class StepAnswer(Form):
    kind: ClassVar[str] = "step"

    reason: str
    shown: tuple[Shown, ...]
    status: StepVerdict

    def __post_init__(self) -> None:
        if self.status is StepVerdict.DONE and not self.turns:
            raise ValueError("done needs a quote of each place that shows it")
        claimed = any(place.agent for place in self.shown)
        if self.status is StepVerdict.CLAIM_CONTRADICTED and not (claimed and self.tool_turns):
            raise ValueError("claim_contradicted needs the agent's claim and the tool result that failed")

    @property
    def quotes(self) -> tuple[Quote, ...]:
        return tuple(q for place in self.shown for q in (place.agent, place.tool) if q is not None)

    @property
    def turns(self) -> frozenset[int]:
        return self.tool_turns | {place.agent.turn for place in self.shown if place.agent}

    @property
    def tool_turns(self) -> frozenset[int]:
        return frozenset(place.tool.turn for place in self.shown if place.tool)

    @property
    def word(self) -> str:
        return self.status

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        return {
            StepVerdict.DONE: (AgentQuote,),
            StepVerdict.NOT_DONE: (),
            StepVerdict.CLAIM_CONTRADICTED: (AgentQuote, ToolQuote),
        }

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        shown = (Shown(spoken(quotes, AgentQuote), spoken(quotes, ToolQuote)),) if quotes else ()
        return cls(reason, shown, StepVerdict(word))

    def ballot(self) -> Hashable:
        return self.status

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self | None:
        """Done where any window shows it, at the places of all of them. Where one window shows a failed call and
        another the deed, no window sees which is true."""
        done = [part for part in parts if part.status is StepVerdict.DONE]
        contradicted = next((part for part in parts if part.status is StepVerdict.CLAIM_CONTRADICTED), None)
        if done and contradicted:
            return None
        if not done:
            return contradicted or parts[0]
        return replace(done[0], shown=tuple(dict.fromkeys(place for part in done for place in part.shown)))


@dataclass(frozen=True)
class ToolStepAnswer(StepAnswer):
    """Of a step that is a tool call: a call may have no result to quote, so its turn is told, which code looks up."""

    calls: tuple[int, ...] = ()

    @property
    def tool_turns(self) -> frozenset[int]:
        return super().tool_turns | frozenset(self.calls)

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self | None:
        merged = super().merge(parts)
        calls = {turn for part in parts if merged and part.status is merged.status for turn in part.calls}
        return merged and replace(merged, calls=tuple(sorted(calls)))


@dataclass(frozen=True)
class ConditionAnswer(Form):
    kind: ClassVar[str] = "condition"

    reason: str
    user: UserQuote | None
    agent: AgentQuote | None
    tool: ToolQuote | None
    holds: YesNo

    def __post_init__(self) -> None:
        if self.holds is YesNo.YES and not self.quotes:
            raise ValueError("yes needs a quote that shows it")

    @property
    def quotes(self) -> tuple[Quote, ...]:
        return tuple(quote for quote in (self.user, self.agent, self.tool) if quote is not None)

    @property
    def word(self) -> str:
        return self.holds

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        return {YesNo.YES: (UserQuote,), YesNo.NO: ()}

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        said = (spoken(quotes, UserQuote), spoken(quotes, AgentQuote), spoken(quotes, ToolQuote))
        return cls(reason, *said, YesNo(word))

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self | None:
        """It holds if it does in any window."""
        return next((part for part in parts if part.holds is YesNo.YES), parts[0])
