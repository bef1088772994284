"""A drawing on a page of its own: no script, no network."""

from __future__ import annotations

from html import escape
from typing import Final

from flowx_cli.graph.figure import Figure

_LEGEND: Final = (
    ("#16a34a", "done"),
    ("#dc2626", "failed"),
    ("#d97706", "waiting"),
    ("#9333ea", "undone"),
)

_STYLE: Final = """
body { margin: 2rem; font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; color: #1e293b; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
p { color: #64748b; margin: 0 0 1rem; }
ul { list-style: none; display: flex; gap: 1.2rem; padding: 0; font-size: .85rem; }
li::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem;
  border: 2px solid var(--colour); border-radius: 3px; vertical-align: -.1rem; }
figure { margin: 0; overflow-x: auto; }
"""


def page_of(figure: Figure, svg: str, *, instance: str = "") -> str:
    """The document, with what is said of an instance above the picture, if it is of one."""
    legend = "".join(f'<li style="--colour: {colour}">{name}</li>' for colour, name in _LEGEND)
    about = f"<p>{escape(instance)}</p>\n<ul>{legend}</ul>\n" if instance else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(figure.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(figure.title)}</h1>\n{about}<figure>\n{svg}</figure>\n</body>\n</html>\n"
    )
