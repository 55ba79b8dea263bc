"""Conversations that both contenders judge."""

from benchmarks.speed.conversations import REFUSALS, conversation, number_of


def test_a_conversation_is_the_same_each_time_and_unlike_every_other() -> None:
    made = [conversation(number) for number in range(500)]
    assert made == [conversation(number) for number in range(500)]
    assert len({each.transcript for each in made}) == len(made)  # else a remembered answer would save a call


def test_the_number_of_a_conversation_is_in_its_id() -> None:
    assert [number_of(conversation(number).id) for number in (0, 7, 99_999)] == [0, 7, 99_999]


def test_half_are_chinese_and_three_of_ten_refuse_the_second_task() -> None:
    made = [conversation(number) for number in range(100)]
    assert sum("你好" in each.transcript for each in made) == 50
    assert sum(each.turns[2][1] in REFUSALS for each in made) == 30
    assert not any(reply in REFUSALS for each in made for i, (_, reply) in enumerate(each.turns) if i != 2)
