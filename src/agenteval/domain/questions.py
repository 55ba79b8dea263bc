"""The whole contract between rules and judges: a rule asks questions as data, the judge's panel answers them."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, overload

import orjson

from agenteval.domain.caching import lazy
from agenteval.domain.forms import Form, dump, load, schema
from agenteval.domain.json_value import Json, canonical
from agenteval.domain.quick_init import quick_init
from agenteval.domain.transcript import Dialog, Turn

F = TypeVar("F", bound=Form)
V = TypeVar("V")
T = TypeVar("T")


class Cause(StrEnum):
    """Why something was not measured. `rule_error`: the rule itself broke; a fault of the rule, not of the agent."""

    NEEDS_JUDGE = "needs_judge"
    UNPARSABLE = "unparsable"
    SCHEMA = "schema"
    EVIDENCE = "evidence"
    TIE = "tie"
    MODEL_ERROR = "model_error"
    TOO_LONG = "too_long"
    PENDING = "pending"
    RULE_ERROR = "rule_error"
    TIME_LIMIT = "time_limit"


class View(NamedTuple):
    """What a judge may see of a dialog: turns `first` to `last` inclusive (None: to the end; negative: from the end),
    with the agent's side or only the user's."""

    first: int = 0
    last: int | None = None
    agent: bool = True

    def turns(self, dialog: Dialog) -> tuple[Turn, ...]:
        stop = None if self.last is None else self.last + 1
        return dialog.turns[self.first : stop]


DIALOG = View()
LAST_TURN = View(first=-1)
USER_TURNS = View(agent=False)


def until_turn(index: int) -> View:
    return View(last=index)


@dataclass(frozen=True)
class Question(Generic[F]):
    """One thing to find out about a dialog.

    `item` names it for review and reports (`slot:phone`). `text` is this item's wording, `guide` the rule's prompt,
    sent once per call. `isolate`: never beside another rule's questions. `samples`: how many votes. `code` decides
    first, with no model, or returns None; an expected value lives in this closure and so cannot reach a prompt.
    `variant` tells apart questions that only their code tells apart; no model sees it.
    """

    item: str
    form: type[F]
    text: str
    guide: str = ""
    view: View = DIALOG
    isolate: bool = False
    samples: int = 1
    code: Callable[[Dialog], F | None] | None = field(default=None, compare=False)
    variant: str = ""

    @lazy
    def key(self) -> str:
        return hashlib.sha256(canonical([self.wording, self.samples, self.variant])).hexdigest()

    @lazy
    def wording(self) -> str:
        """What a model is asked, and may see."""
        view = (self.view.first, self.view.last, self.view.agent)
        return hashlib.sha256(canonical([schema(self.form), self.guide, self.text, view])).hexdigest()


class Similarity(NamedTuple):
    """How alike two texts are in meaning."""

    a: str
    b: str

    @property
    def key(self) -> str:
        return hashlib.sha256(canonical(["similarity", self.a, self.b])).hexdigest()


class Ranking(NamedTuple):
    """Which of the candidates, each described by a few texts, a text is about."""

    text: str
    candidates: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def key(self) -> str:
        return hashlib.sha256(canonical(["ranking", self.text, self.candidates])).hexdigest()


class Moderation(NamedTuple):
    """Whether a text breaks the moderation model's policy."""

    text: str

    @property
    def key(self) -> str:
        return hashlib.sha256(canonical(["moderation", self.text])).hexdigest()


class Likeness(NamedTuple):
    """`score` in 0..1. A local scorer settles only passing: it answers only at or above its own measured `bar`, which
    then stands in place of the rule's threshold."""

    score: float
    scorer: str
    bar: float | None = None


class Flags(NamedTuple):
    """The categories a moderation model found in a text; none: the text is fine."""

    categories: tuple[str, ...]


class Lead(StrEnum):
    """How far the first of a ranking is before the second, by margins that were measured for each scorer: `clear`
    tells by itself, `ahead` where something else speaks for it, too."""

    CLEAR = "clear"
    AHEAD = "ahead"
    FIRST = "first"


class Ranked(NamedTuple):
    """The candidate that a text is most like, and the two after it."""

    best: str
    scorer: str
    lead: Lead = Lead.CLEAR
    next: tuple[str, ...] = ()


Ask: TypeAlias = Question[Any] | Similarity | Ranking | Moderation


class Reviewed(NamedTuple):
    """What a person's answer stands for: the word of the machine (None: it had none), and the person's note."""

    machine: str | None
    note: str = ""


@quick_init
@dataclass(frozen=True)
class Judged(Generic[V]):
    """An answer. `by` says whose: `code`, `encoder:<name>`, `model:<id>` or `person:<id>`, which is then `reviewed`.

    `calls` are the ids of the model calls it came from; usage is counted on calls, never here. `dropped` tells of list
    items that could not be verified. `turns_seen` are the first and last turn shown to the judge, when not all.
    `votes` are the ballots as (ballot, count), most first, when several samples were taken.
    """

    value: V
    by: str
    calls: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    turns_seen: tuple[tuple[int, int], ...] | None = None
    votes: tuple[tuple[str, int], ...] = ()
    repaired: bool = False
    reviewed: Reviewed | None = None

    @lazy
    def stored(self) -> orjson.Fragment:
        """The JSON of what is remembered and stored of it, for `orjson`, which writes a form as it is in a tenth of the
        time that `dump` takes. `judged_from_json` reads it."""
        kept = {
            "value": self.value if isinstance(self.value, Form) else list(self.value),  # type: ignore[call-overload]
            "by": self.by,
            "calls": self.calls,
            "dropped": self.dropped,
            "turns_seen": self.turns_seen,
            "votes": self.votes,
            "repaired": self.repaired,
        }
        return orjson.Fragment(orjson.dumps(kept))


class Unscored(NamedTuple):
    """Not measured, and why. `calls` and `votes` as in Judged."""

    cause: Cause
    detail: str = ""
    calls: tuple[str, ...] = ()
    votes: tuple[tuple[str, int], ...] = ()


def provenance(answer: Judged[Any] | Unscored) -> dict[str, Json]:
    """What is noteworthy about how an answer came about, for the detail of its item; mostly nothing. `turns_seen`: the
    first and last turn of each window, when no judge saw the whole dialog; `votes`: how many samples were for what,
    when they disagree; `repaired`: the judge's text was not quite JSON; `dropped`: list items never verified;
    `reviewed`: by whom, and the machine's verdict."""
    if isinstance(answer, Unscored):
        return {}
    if not (answer.turns_seen or answer.votes or answer.repaired or answer.dropped or answer.reviewed):
        return {}
    by = answer.by.removeprefix("person:")
    told: dict[str, Json] = {
        "turns_seen": [list(window) for window in answer.turns_seen or ()],
        "votes": dict(answer.votes) if len(answer.votes) > 1 else {},
        "repaired": answer.repaired,
        "dropped": list(answer.dropped),
        "reviewed": {"by": by, **answer.reviewed._asdict()} if answer.reviewed else {},
    }
    return {name: value for name, value in told.items() if value}


class Answers:
    """What is known about a dialog, looked up by the question itself. `reviewed`: the keys that people answered."""

    def __init__(
        self,
        known: Mapping[str, "Judged[Any] | Unscored"] | None = None,
        *,
        reviews: Mapping[str, "Judged[Any]"] | None = None,
    ) -> None:
        self._known: dict[str, Judged[Any] | Unscored] = {**(known or {}), **(reviews or {})}
        self.reviewed = frozenset(reviews or ())
        self._found: dict[int, tuple[object, Any]] = {}

    @overload
    def get(self, ask: Question[F]) -> Judged[F] | Unscored | None: ...
    @overload
    def get(self, ask: Similarity) -> Judged[Likeness] | Unscored | None: ...
    @overload
    def get(self, ask: Ranking) -> Judged[Ranked] | Unscored | None: ...
    @overload
    def get(self, ask: Moderation) -> Judged[Flags] | Unscored | None: ...
    def get(self, ask: Ask) -> Judged[Any] | Unscored | None:
        """The answer, or None when the question was not put yet."""
        return self._known.get(ask.key)

    @overload
    def __getitem__(self, ask: Question[F]) -> Judged[F] | Unscored: ...
    @overload
    def __getitem__(self, ask: Similarity) -> Judged[Likeness] | Unscored: ...
    @overload
    def __getitem__(self, ask: Ranking) -> Judged[Ranked] | Unscored: ...
    @overload
    def __getitem__(self, ask: Moderation) -> Judged[Flags] | Unscored: ...
    def __getitem__(self, ask: Ask) -> Judged[Any] | Unscored:
        return self._known[ask.key]

    def __contains__(self, ask: Ask) -> bool:
        return ask.key in self._known

    def __iter__(self) -> Iterator[tuple[str, "Judged[Any] | Unscored"]]:
        return iter(self._known.items())

    def __len__(self) -> int:
        return len(self._known)

    def add(self, more: Mapping[str, "Judged[Any] | Unscored"]) -> None:
        self._known.update(more)
        self._found.clear()

    def found(self, by: object, find: Callable[[], T]) -> T:
        """What `by`, the same object each time, finds in the answers: found once, until more are known. It must not
        refer to these answers: the garbage of every case would be left to the collector of cycles."""
        kept = self._found.get(id(by))
        if kept is None:
            kept = self._found[id(by)] = by, find()  # with `by`, so that no other object gets its id
        found: T = kept[1]
        return found


def judged_from_json(ask: Ask, stored: Any) -> Judged[Any]:
    """The answer to `ask` of which this is the JSON that was `stored`."""
    pairs = {name: stored[name] and tuple(map(tuple, stored[name])) for name in ("turns_seen", "votes")}
    return Judged(
        value_from_json(ask, stored["value"]),
        stored["by"],
        calls=tuple(stored["calls"]),
        dropped=tuple(stored["dropped"]),
        turns_seen=pairs["turns_seen"],
        votes=pairs["votes"] or (),
        repaired=stored["repaired"],
    )


def value_to_json(value: Any) -> Json:
    """The value of an answer as it is stored."""
    return dump(value) if isinstance(value, Form) else list(value)


def value_from_json(ask: Ask, stored: Any) -> Any:
    """What `value_to_json` wrote of an answer to `ask`."""
    match ask:
        case Question():
            return load(ask.form, stored)
        case Similarity():
            return Likeness(*stored)
        case Ranking():
            best, scorer, lead, following = stored
            return Ranked(best, scorer, Lead(lead), tuple(following))
        case Moderation():
            return Flags(tuple(stored[0]))
