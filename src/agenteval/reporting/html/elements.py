"""Markup that is right by construction: text is escaped, only what `tag` made is taken as it is."""

from agenteval.reporting.escape import for_html

_VOID = {"input", "link", "meta"}


class Html(str):
    """Markup, as against text."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element. Children that are no Html are text. Attributes: `class_` and `for_` lose their underscore, others
    have "-" for it; True stands for its own name, False and None leave it out."""
    written = "".join(map(_attribute, attributes, attributes.values()))
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: str | None) -> Html:
    return Html("".join(c if isinstance(c, Html) else for_html(c) for c in children if c))


def _attribute(name: str, value: str | float | bool | None) -> str:
    name = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{for_html(str(value))}"'
