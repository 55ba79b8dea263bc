"""What the blind judge is asked for: the intents that the agent acted on."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Self, cast

from agenteval.domain.forms import AgentQuote, Form, Quote, Quotes, ToolQuote, UserQuote, YesNo, spoken

NOTHING = "-"
"""What stands for an agent that acted on no intent."""
ONLY_ASKED = "only_asked"
CONTRADICTION = "only_asked is yes, but intents are listed that the agent acted on"


@dataclass(frozen=True)
class ActedOn(Form):
    agent_quote: AgentQuote | None
    tool_quote: ToolQuote | None
    intent: StrEnum
    user_quote: UserQuote | None
    asked_by_user: YesNo

    def __post_init__(self) -> None:
        if self.agent_quote is None and self.tool_quote is None:
            raise ValueError("quote the agent's words or the tool result that show the intent")
        if self.asked_by_user is YesNo.YES and self.user_quote is None:
            raise ValueError("asked_by_user is yes: quote the user's words that ask for it")


@dataclass(frozen=True)
class AgentIntents(Form):
    """`intents`: the latest first. `second`: the next likely reading of the latest one."""

    kind: ClassVar[str] = "intent"
    choice: ClassVar[type[StrEnum]]
    act: ClassVar[type[ActedOn]]

    reason: str
    intents: tuple[ActedOn, ...]
    second: StrEnum | None
    question: AgentQuote | None
    only_asked: YesNo

    def __post_init__(self) -> None:
        if self.only_asked is YesNo.YES and self.question is None:
            raise ValueError("only_asked is yes: quote the agent's question")
        if self.only_asked is YesNo.YES and self.intents:
            raise ValueError(CONTRADICTION)

    @property
    def word(self) -> str:
        """Of several intents all, the latest first."""
        if self.only_asked is YesNo.YES:
            return ONLY_ASKED
        return ", ".join(act.intent.value for act in self.intents) or NOTHING

    @classmethod
    def verdicts(cls) -> Mapping[str, tuple[type[Quote], ...]]:
        acted = {name.value: (AgentQuote,) for name in cls.choice}
        return {**acted, ONLY_ASKED: (AgentQuote,), NOTHING: ()}

    @classmethod
    def by_person(cls, word: str, quotes: Quotes, reason: str) -> Self:
        agent, user = spoken(quotes, AgentQuote), spoken(quotes, UserQuote)
        if word in (ONLY_ASKED, NOTHING):
            return cls(reason, (), None, agent, YesNo.YES if word == ONLY_ASKED else YesNo.NO)
        act = cls.act(agent, None, cls.choice(word), user, YesNo.YES if user else YesNo.NO)
        return cls(reason, (act,), None, None, YesNo.NO)

    def ballot(self) -> Hashable:
        """The runner-up is no part of it: votes that agree on what the agent did would be lost over it."""
        return (self.only_asked.value, *((act.intent.value, act.asked_by_user.value) for act in self.intents))

    @classmethod
    def merge(cls, parts: Sequence[Self]) -> Self:
        """The intents of all windows, the latest first; what the user asked for in one window is asked for in all."""
        acts = [act for part in reversed(parts) for act in part.intents]
        if not acts:
            return next((part for part in parts if part.only_asked is YesNo.YES), parts[-1])
        asked = {act.intent: act for act in acts if act.asked_by_user is YesNo.YES}
        latest = next(part for part in reversed(parts) if part.intents)
        return replace(latest, intents=tuple({act.intent: asked.get(act.intent, act) for act in acts}.values()))


@cache
def form_of(names: tuple[str, ...]) -> type[AgentIntents]:
    """The form whose intents are a closed choice of `names`: what is none of them is asked again, then left out."""
    choice = cast(Any, StrEnum)("Choice", [(f"choice_{i}", name) for i, name in enumerate(names)])
    act = make_dataclass("ActedOn", [("intent", choice)], bases=(ActedOn,), frozen=True)
    acts: Any = tuple.__class_getitem__((act, ...))
    form = make_dataclass(
        "AgentIntents",
        [("intents", acts), ("second", choice | None)],
        bases=(AgentIntents,),
        namespace={"choice": choice, "act": act},
        frozen=True,
    )
    return cast(type[AgentIntents], form)
