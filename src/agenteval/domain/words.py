"""Words that rules and reports share, Chinese beside English."""

from collections.abc import Mapping

from agenteval.domain.questions import Cause

CAUSES: Mapping[Cause, tuple[str, str]] = {
    Cause.NEEDS_JUDGE: ("需要评审模型", "needs a judge model"),
    Cause.UNPARSABLE: ("评审的回答无法解析", "the judge's answer cannot be read"),
    Cause.SCHEMA: ("评审的回答不符合要求的格式", "the judge's answer does not have the form asked for"),
    Cause.EVIDENCE: ("评审给出的证据无法核实", "the judge's evidence could not be verified"),
    Cause.TIE: ("投票持平", "the votes are tied"),
    Cause.MODEL_ERROR: ("模型调用失败", "the model failed"),
    Cause.TOO_LONG: ("对话超出模型的上下文", "the dialog does not fit the model's context"),
    Cause.PENDING: ("评审尚未回答批量请求", "the judge has not answered in a batch file"),
    Cause.RULE_ERROR: ("规则自身出错", "the rule itself broke"),
    Cause.TIME_LIMIT: ("本用例的时限已用完", "the case's time was up"),
}
"""Why something was not measured."""
