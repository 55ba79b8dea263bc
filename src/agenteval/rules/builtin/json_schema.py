"""json_schema: the last reply is JSON of a given shape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import jsonschema_rs
import orjson

from agenteval.domain.json_value import Json, below
from agenteval.domain.outcome import RuleResult
from agenteval.domain.questions import Answers, Cause
from agenteval.domain.scenario import Case
from agenteval.domain.text import Language, is_blank
from agenteval.domain.transcript import Dialog, TurnStatus
from agenteval.rules import EvalRule, register_rule
from agenteval.rules.reasons import say
from agenteval.rules.replies import no_reply
from agenteval.rules.schema_weight import weigh

MAX_SCHEMA_BYTES = 64 * 1024
MAX_REPLY_BYTES = 1024 * 1024
MAX_PATTERN_BYTES = 64 * 1024
"""Of a compiled pattern."""
MAX_WORK = 100_000_000
"""Weight of the schema times bytes of the reply. The slowest schemas were measured at 14 ns for each, the second pass
that lists the errors included: 1.4 s."""
MAX_LISTING = 100_000
"""Weight of the schema times values in the reply up to which errors are listed. All are built before the first one is
given: the slowest schemas took 4 µs and 1.5 kB for each."""
MAX_ERRORS = 50
MAX_SHOWN = 3
"""Errors in the reason; the list in `detail` goes on."""
MAX_MESSAGE = 300
"""Characters; a message quotes what it is about."""


class Compiled(NamedTuple):
    validator: jsonschema_rs.Validator
    weight: int


@register_rule
@dataclass(frozen=True)
class JsonSchema(EvalRule):
    """The last reply fits a JSON Schema (draft 2020-12 unless `$schema` names an older one; `format` is checked).

    Score: 1 or 0; `detail.errors` lists what does not fit, at most 50. A reply in text must be JSON as a whole: prose
    or a code fence around it would break whoever reads it. The schema has at most 64 KiB and 32 levels; `$ref` stays
    within it (`#/...`) and is not recursive; patterns have no look-around and no back-references.
    """

    name = "json_schema"
    version = "1"

    schema: Mapping[str, Any]

    def __post_init__(self) -> None:
        _ = self._compiled  # now, so that a schema that cannot be used is refused

    @cached_property
    def _compiled(self) -> Compiled:
        return _compile(self.schema)

    def evaluate(self, case: Case, dialog: Dialog, answers: Answers) -> RuleResult:
        language = dialog.language
        last = dialog.turns[-1] if dialog.turns else None
        if last is None or last.status is not TurnStatus.OK or _is_empty(last.reply):
            return self.scored(0, passed=False, reason=no_reply(dialog, "last_turn"))
        try:
            written = last.reply.encode() if isinstance(last.reply, str) else orjson.dumps(last.reply)
            reply = orjson.loads(written)
        except (ValueError, TypeError) as error:  # of a structured reply: deeper than JSON can be written
            return self._misfit([{"path": "", "message": _not_json(last.reply, error, language)}], language)
        if len(written) > MAX_REPLY_BYTES or self._compiled.weight * len(written) > MAX_WORK:
            reason = say(
                language,
                f"未评分：回复过长（{len(written):,} 字节），无法用此 Schema 校验。",
                f"Not scored: the reply is too long ({len(written):,} bytes) to be checked with this schema.",
            )
            return self.failed_to_score(Cause.TOO_LONG, reason)
        if self._compiled.validator.is_valid(reply):
            reason = say(language, "回复符合 Schema。", "The reply fits the schema.")
            return self.scored(1, passed=True, reason=reason, detail={"errors": []})
        return self._misfit(list(self._errors(reply, language)), language)

    def _errors(self, reply: Json, language: Language) -> Iterator[dict[str, str]]:
        if self._compiled.weight * _count(reply) > MAX_LISTING:
            message = say(language, "值太多，无法逐一列出", "too many values to list what does not fit")
            yield {"path": "", "message": message}
            return
        for error in islice(self._compiled.validator.iter_errors(reply), MAX_ERRORS):
            yield {"path": below("", *error.instance_path), "message": _short(error.message)}

    def _misfit(self, errors: list[dict[str, str]], language: Language) -> RuleResult:
        faults = [f"{error['path']} {error['message']}".strip() for error in errors[:MAX_SHOWN]]
        if more := len(errors[MAX_SHOWN:]):
            faults.append(say(language, f"另有 {more} 处", f"and {more} more"))
        reason = say(
            language,
            f"回复不符合 Schema：{'；'.join(faults)}。",
            f"The reply does not fit the schema: {'; '.join(faults)}.",
        )
        return self.scored(0, passed=False, reason=reason, detail={"errors": errors})


def _compile(schema: Mapping[str, Any]) -> Compiled:
    """Raises ValueError for a schema that cannot be used."""
    try:
        size = len(orjson.dumps(schema))
    except TypeError as error:
        raise ValueError(f"the schema is no JSON: {error}") from None
    if size > MAX_SCHEMA_BYTES:
        raise ValueError(f"the schema has {size:,} bytes, at most {MAX_SCHEMA_BYTES:,} are allowed")
    weight = weigh(schema)
    try:
        validator = jsonschema_rs.validator_for(
            dict(schema),
            validate_formats=True,
            retriever=_refuse,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES),
        )
    except jsonschema_rs.ValidationError as error:
        raise ValueError(f"{below('', *error.instance_path) or 'schema'}: {_short(error.message)}") from None
    return Compiled(validator, weight)


def _is_empty(reply: Json) -> bool:
    return reply is None or (isinstance(reply, str) and is_blank(reply))


def _not_json(reply: Json, error: Exception, language: Language) -> str:
    if isinstance(reply, str) and reply.lstrip().startswith("```"):
        return say(language, "不是 JSON：被包在代码块里", "not JSON: it stands in a code fence")
    return say(language, f"不是 JSON（{error}）", f"not JSON ({error})")


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched: only references within the schema are followed")


def _short(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"


def _count(value: Json) -> int:
    """Values in `value`, itself included."""
    count, left = 0, [value]
    while left:
        match left.pop():
            case dict() as members:
                left.extend(members.values())
            case list() as items:
                left.extend(items)
        count += 1
    return count
