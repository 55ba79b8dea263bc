"""The planted faults, and where a report must name each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agenteval.domain.json_value import Json
from agenteval.domain.text import Language
from agenteval.reporting.items import Item, Kind, items
from agenteval.reporting.level import Level
from agenteval.reporting.reading import entries
from agenteval.reporting.report import RunReport


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """A fault of the faulty agent in the case `<language>-<case>`. It shows as the item `kind` `name` with `status`, by
    words in `turn` (from 0). `what` is what the agent does wrong."""

    case: str
    kind: Kind
    name: str
    status: str
    turn: int
    what: Mapping[Language, str]

    @property
    def place(self) -> str:
        return f"{self.kind} {self.name} in turn {self.turn + 1}"

    def is_shown_by(self, item: Item) -> bool:
        turns = {item.turn, *(said.turn for said in item.evidence)}
        return (item.kind, item.name, item.status) == (self.kind, self.name, self.status) and self.turn in turns


PLANTED = (
    Planted(
        case="booking",
        kind=Kind.SLOT,
        name="address",
        status="stated_only",
        turn=3,
        what={
            "zh": "忘记信息：单独说的地址没有记下，又问一遍",
            "en": "forgets an address that comes alone: asks again",
        },
    ),
    Planted(
        case="change",
        kind=Kind.SLOT,
        name="phone",
        status="stale",
        turn=2,
        what={"zh": "用户更正电话后仍用旧号码", "en": "keeps the old phone number after a correction"},
    ),
    Planted(
        case="full-day",
        kind=Kind.STEP,
        name="confirm_booking",
        status="claim_contradicted",
        turn=1,
        what={"zh": "预约工具失败，却声称预约成功", "en": "claims a booking although its own tool call failed"},
    ),
    Planted(
        case="cancel",
        kind=Kind.INTENT,
        name="appointment_booking",
        status="acted_on",
        turn=0,
        what={"zh": "误解意图：要取消，却去预约", "en": "misreads the intent: books instead of cancelling"},
    ),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """`found`: the case `case_id` is a failure, and the report names the fault in it."""

    case_id: str
    planted: Planted
    found: bool

    def as_json(self) -> dict[str, Json]:
        planted = self.planted
        return {
            "case": self.case_id,
            "kind": planted.kind,
            "name": planted.name,
            "status": planted.status,
            "turn_index": planted.turn,
            "what": planted.what["en"],
            "found": self.found,
        }


async def find(report: RunReport, languages: Sequence[Language]) -> list[Finding]:
    """Whether the report of the faulty agent names each planted fault in each language."""
    shown = {
        entry.place.case.id: [item for result in entry.results for item in items(result.detail)]
        async for entry in entries(report)
        if entry.level is Level.FAILURE
    }
    return [
        Finding(case_id, planted, any(planted.is_shown_by(item) for item in shown.get(case_id, ())))
        for language in languages
        for planted in PLANTED
        for case_id in [f"{language}-{planted.case}"]
    ]


async def not_successful(report: RunReport) -> list[str]:
    """The cases that are no success; of the good agent there is none."""
    return [entry.place.case.id async for entry in entries(report) if entry.level is not Level.SUCCESS]
