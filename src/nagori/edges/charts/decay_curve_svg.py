"""Draw decay curves as a standalone SVG document, in light or dark as the reader prefers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from nagori.edges.charts import LETTERS, ChartAxes, Frame, Point, Series, Spot, cut, free_places, thin_path

LIGHT = ("#0067b1", "#c2500a", "#00805a", "#b8478f", "#6b4bb8", "#86660a", "#007c8a", "#b3261e")
DARK = ("#6cb6ff", "#ff9f5a", "#4fd1a1", "#f08fcb", "#b79cff", "#e3c04f", "#58cfdd", "#ff8a80")
TINTS = {1: ("#eaf3ec", "#15241b"), 2: ("#e9f1f8", "#14202d"), 3: ("#f4eff9", "#211a2d")}
TINTS[4] = ("#efefef", "#232323")
FONTS = (
    "system-ui, -apple-system, 'Segoe UI', 'Hiragino Sans', 'Yu Gothic UI', Meiryo, "
    "'Noto Sans CJK JP', 'Noto Sans JP', 'IPAexGothic', sans-serif"
)
CELL_PX, LEGEND_ROW, LEAST_PLOT = 6.7, 21, 160
LOCK = (
    '<g class="lock" transform="translate({x:.1f} {y:.1f})"><path d="M0 5h10v7H0z"/>'
    '<path class="bow" d="M2 5V3a3 3 0 0 1 6 0v2"/></g>'
)
LEFT, RIGHT, ABOVE, BELOW = 52, 104, 58, 46


def svg_chart(
    series: Sequence[Series],
    title: str,
    axes: ChartAxes | None = None,
    width: int = 960,
    height: int = 540,
) -> str:
    """The curves as an SVG document, in light or dark as the reader prefers."""
    axes = axes or ChartAxes()
    frame = axes.fitted(series)
    rows = min(math.ceil(len(series) / 2), (height - ABOVE - BELOW - LEAST_PLOT) // LEGEND_ROW)
    wide, high = width - LEFT - RIGHT, height - ABOVE - BELOW - rows * LEGEND_ROW - 14

    def at(point: Point) -> Spot:
        return LEFT + frame.across(point.day) * wide, ABOVE + frame.down(point.score) * high

    body = [
        *_bands(frame, axes, at, wide),
        *_days(frame, axes, at, wide),
        *(_recall_key(axes, wide) if any(one.marks for one in series) else ()),
        *_curves(series, at),
        *_legend(series, rows, width, height - rows * LEGEND_ROW),
    ]
    return page(title, width, height, body)


def page(title: str, width: int, height: int, body: Sequence[str], rules: Sequence[str] = ("", "")) -> str:
    """A document with title and colours around `body`; `rules` are additional styles, light and dark."""
    name = safe(title, 200)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{name}">',
        f"<title>{name}</title>",
        f"<style>\n{_stylesheet(*rules)}\n</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="title" x="{LEFT}" y="34">{safe(title, int((width - LEFT) / 10.5))}</text>',
        *body,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


At = Callable[[Point], Spot]


def _stylesheet(light: str = "", dark: str = "") -> str:
    def theme(n: int, page: str, ink: str, faint: str, line: str) -> str:
        colours, more = (LIGHT, DARK)[n], (light, dark)[n]
        rules = [more] if more else []
        rules += [f".page{{fill:{page}}} text{{fill:{ink}}} .faint{{fill:{faint}}}"]
        rules += [f".lock{{fill:{faint};stroke:{faint}}}"]
        rules += [f".line{{stroke:{line}}} .key{{fill:{page}}} .mark{{stroke:{page}}}"]
        rules += [f".l{level}{{fill:{tints[n]}}}" for level, tints in TINTS.items()]
        rules += [f".s{i}{{stroke:{c}}} .f{i}{{fill:{c}}}" for i, c in enumerate(colours)]
        return "\n".join(rules)

    return "\n".join(
        (
            f"text{{font:13px {FONTS}}} .title{{font-size:19px;font-weight:600}}",
            ".faint{font-size:12px} .key{font-size:11px;font-weight:700;text-anchor:middle}",
            ".curve{fill:none;stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}",
            ".ghost{stroke-dasharray:2 6} .kept{stroke-width:3.5} .mark{stroke-width:1.5}",
            ".line{stroke-width:1;stroke-dasharray:3 4} .axis{stroke-dasharray:none}",
            ".lock{stroke-width:1.4} .bow{fill:none}",
            ".end{text-anchor:end} .middle{text-anchor:middle}",
            theme(0, "#ffffff", "#1f2328", "#5b6570", "#b4bcc4"),
            "@media (prefers-color-scheme:dark){",
            theme(1, "#0d1117", "#e6edf3", "#9aa5b1", "#48515b"),
            "}",
        )
    )


def _bands(frame: Frame, axes: ChartAxes, at: At, wide: float) -> list[str]:
    """The levels: a tint, a line with its number above, a name at the right."""
    parts = []
    for band in frame.bands:
        _, top = at(Point(0, band.top))
        _, bottom = at(Point(0, band.bottom))
        middle = (top + bottom) / 2 + 4
        parts += [
            f'<rect class="l{int(band.level)}" x="{LEFT}" y="{top:.1f}" '
            f'width="{wide:.1f}" height="{bottom - top:.1f}"/>',
            f'<path class="line" d="M{LEFT} {top:.1f}h{wide:.1f}"/>',
            f'<text class="faint end" x="{LEFT - 8}" y="{top + 4:.1f}">{band.top:g}</text>',
            f'<text class="faint" x="{LEFT + wide + 10:.1f}" y="{middle:.1f}">'
            f"{safe(axes.names[band.level], 13)}</text>",
        ]
    return parts


def _days(frame: Frame, axes: ChartAxes, at: At, wide: float) -> list[str]:
    """The axis below; where two numbers collide, the earlier one stays."""
    _, floor = at(Point(0, 0))
    parts = [f'<path class="line axis" d="M{LEFT} {floor:.1f}h{wide:.1f}"/>']
    last = -math.inf
    for tick in frame.ticks:
        x, _ = at(Point(tick, 0))
        if x - last >= 24:
            parts += [
                f'<path class="line axis" d="M{x:.1f} {floor:.1f}v5"/>',
                f'<text class="faint middle" x="{x:.1f}" y="{floor + 20:.1f}">{tick:g}</text>',
            ]
            last = x
    parts.append(
        f'<text class="faint" x="{LEFT + wide + 22:.1f}" y="{floor + 20:.1f}">{safe(axes.unit, 11)}</text>'
    )
    return parts


def _recall_key(axes: ChartAxes, wide: float) -> list[str]:
    """The legend of the marks."""
    x = LEFT + wide
    return [
        f'<circle class="faint" cx="{x - 5:.1f}" cy="{ABOVE - 16}" r="4"/>',
        f'<text class="faint end" x="{x - 15:.1f}" y="{ABOVE - 12}">{safe(axes.recalled, 30)}</text>',
    ]


def _curves(series: Sequence[Series], at: At) -> list[str]:
    parts = []
    paths = [thin_path([at(point) for point in one.points]) for one in series]
    marks = [[at(point) for point in one.marks] for one in series]
    for number, (one, path) in enumerate(zip(series, paths, strict=True)):
        if path:
            looks = f"curve s{number % len(LIGHT)}{' ghost' * one.ghost}{' kept' * one.protected}"
            along = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
            parts.append(f'<polyline class="{looks}" points="{along}"/>')
    for number, spots in enumerate(marks):
        look = f"mark f{number % len(LIGHT)}"
        parts += [f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in spots]
    for number, place in enumerate(free_places(paths, marks, 40)):
        if place:
            parts += _key(number, *place)
    return parts


def _key(number: int, x: float, y: float) -> list[str]:
    """The letter of a curve on a disc of its colour."""
    return [
        f'<circle class="f{number % len(LIGHT)}" cx="{x:.1f}" cy="{y:.1f}" r="8"/>',
        f'<text class="key" x="{x:.1f}" y="{y + 3.5:.1f}">{LETTERS[number % len(LETTERS)]}</text>',
    ]


def _legend(series: Sequence[Series], rows: int, width: int, top: float) -> list[str]:
    """Two columns of labels, read downward; labels without room are counted."""
    parts = []
    half = (width - LEFT) / 2
    room = rows * 2
    for number, one in enumerate(series[:room]):
        column, row = divmod(number, rows)
        x, y = LEFT + column * half, top + row * LEGEND_ROW
        label = cut(one.label, int((half - 44) / CELL_PX))
        if number == room - 1 and len(series) > room:
            label = f"… +{len(series) - number}"
        else:
            parts += _key(number, x + 8, y)
            parts += [LOCK.format(x=x + 22, y=y - 6)] if one.protected else []
        inset = 38 if one.protected else 24
        parts.append(f'<text x="{x + inset:.1f}" y="{y + 4.5:.1f}">{escape(label)}</text>')
    return parts


def safe(text: str, cells: int) -> str:
    """Any text as one escaped line."""
    return escape(cut(text, cells))
