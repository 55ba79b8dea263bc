"""What an author should look at, though it can be run."""

from collections.abc import Iterator, Sequence

from agenteval.domain.regex import TextTooLong
from agenteval.domain.text import fold, is_blank
from agenteval.rules.completion.items import Mode, Order, Slot, Step
from agenteval.rules.completion.values import expected_in, values_of


def warnings(
    messages: Sequence[str], mode: Mode, slots: Sequence[Slot], steps: Sequence[Step], order: Order
) -> Iterator[str]:
    for slot in slots:
        if is_blank(slot.description):
            yield f"slot {slot.name!r}: no description; say what the judge has to look for"
        elif _plain(slot.description) == _plain(slot.name):
            yield f"slot {slot.name!r}: the description only repeats the name"
        if messages and not slot.optional and not _can_be_given(slot, messages):
            yield f"slot {slot.name!r}: required, but no message of the user gives such a value"
    if mode is Mode.HYBRID:
        for name, items, weight in (("required_slots", slots, "slot"), ("required_steps", steps, "step")):
            if all(item.optional for item in items):
                yield f"{name}: no required item, so {weight}_weight is dropped"
    if order is Order.ADVISORY and steps:
        yield "order advisory: the order of the steps is shown, but does not count"


def _plain(text: str) -> str:
    return " ".join(fold(text).replace("_", " ").split())


def _can_be_given(slot: Slot, messages: Sequence[str]) -> bool:
    try:
        if slot.expected_value is not None:
            return any(expected_in(slot, message) for message in messages)
        return not slot.constrained or any(values_of(slot, message) for message in messages)
    except TextTooLong:
        return True
