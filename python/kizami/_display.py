# SPDX-License-Identifier: MIT
"""Names and values for a terminal, a notebook (HTML) and the library rich."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def as_text(value: object) -> str:
    """A value for people: numbers short.

    >>> as_text(8.881784197001252e-16), as_text(1234567), as_text("ozaki2"), as_text(True)
    ('8.88e-16', '1,234,567', 'ozaki2', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def as_call(title: str, facts: Mapping[str, Any]) -> str:
    """One line.

    >>> as_call("Plan", {"m": 3, "bound": 2.0**-50})
    'Plan(m=3, bound=8.88e-16)'
    """
    return f"{title}({', '.join(f'{k}={v:.3g}' if isinstance(v, float) else f'{k}={v!r}' for k, v in facts.items())})"


def as_html(title: str, facts: Mapping[str, Any], details: str = "") -> str:
    """A table, with text behind a fold.

    >>> as_html("Plan", {"m": 3, "policy": "<x>"})
    '<table><caption>Plan</caption><tr><th>m</th><td>3</td></tr><tr><th>policy</th><td>&lt;x&gt;</td></tr></table>'
    """
    rows = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(as_text(v))}</td></tr>" for k, v in facts.items())
    fold = f"<details><summary>explain()</summary><pre>{html.escape(details)}</pre></details>" if details else ""
    return f"<table><caption>{html.escape(title)}</caption>{rows}</table>{fold}"


def as_rich(title: str, facts: Mapping[str, Any]) -> Table:
    """A table of the library rich, which calls this."""
    from rich.table import Table

    table = Table(title=title, show_header=False)
    for name, value in facts.items():
        table.add_row(name, as_text(value))
    return table
