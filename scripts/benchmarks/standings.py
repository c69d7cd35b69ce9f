"""How this tool and others do on one model and on all: figures, who is ahead, and the tables that say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from .page import table, table_row
from .peers import LIMIT_S, PACKAGES, versions

OURS = "tasoopt"
TOOLS = (OURS, *PACKAGES)
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"

NEAR = 0.02
"""Figures that differ by less are called level."""


@dataclass(frozen=True)
class Figure:
    """The speed-up of one result with its 95% interval; a word where it was not timed, with no speed-up if unusable."""

    ratio: float = 0.0
    low: float = 0.0
    high: float = 0.0
    word: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether there is a result, and it computes what the original does."""
        return self.ratio > 0

    def __str__(self) -> str:
        return self.word or f"{self.ratio:.3f}"


UNCHANGED = Figure(1.0, 1.0, 1.0, "unchanged")
WRONG, FAILS, ERROR = Figure(word="wrong"), Figure(word="fails"), Figure(word="error")


@dataclass(frozen=True)
class Standing:
    """What all tools gain on one model, by tool, and what the original gains against itself."""

    control: Figure
    figures: Mapping[str, Figure]

    @property
    def noise(self) -> float:
        """The factor beyond which a figure is more than noise: that of the control, 1.02 at least."""
        return max(self.control.high, 1 / self.control.low, 1 + NEAR)

    @property
    def best_of_others(self) -> Figure:
        """The fastest usable result of another tool; the original where there is none."""
        usable = [figure for tool, figure in self.figures.items() if tool != OURS and figure.is_usable]
        return max(usable, key=lambda figure: figure.ratio, default=UNCHANGED)

    @property
    def place(self) -> str:
        """Whether we are ahead of the best of the others, level with it, or behind it."""
        ours, best = self.figures[OURS], self.best_of_others
        if not ours.is_usable:
            return BEHIND
        is_near = 1 / self.noise < ours.ratio / best.ratio < self.noise
        if is_near or (ours.low <= best.high and best.low <= ours.high):
            return LEVEL
        return AHEAD if ours.ratio > best.ratio else BEHIND

    def is_faster(self, tool: str) -> bool:
        """Whether a tool's result is faster than the original by more than the noise."""
        return self.figures[tool].low > 1 and self.figures[tool].ratio > self.noise

    def is_slower(self, tool: str) -> bool:
        """Whether a tool's result is slower than the original by more than the noise."""
        figure = self.figures[tool]
        return figure.is_usable and figure.high < 1 and figure.ratio * self.noise < 1


def line(name: str, standing: Standing) -> str:
    """The row of a model in Markdown, the fastest results in bold."""
    fastest = max(figure.ratio for figure in standing.figures.values())
    cells = []
    for tool in TOOLS:
        figure = standing.figures[tool]
        is_bold = standing.is_faster(tool) and figure.ratio > fastest - NEAR
        cells.append(f"**{figure}**" if is_bold else str(figure))
    return table_row((name, *cells, f"{standing.control.low:.3f} to {standing.control.high:.3f}", standing.place))


def tool_line(tool: str, standings: Sequence[Standing]) -> str:
    """How often a tool gains and loses by more than the noise, how often it has no usable result, and its mean."""
    figures = [standing.figures[tool] for standing in standings]
    usable = [figure.ratio for figure in figures if figure.is_usable]
    counts = (
        sum(standing.is_faster(tool) for standing in standings),
        sum(standing.is_slower(tool) for standing in standings),
        figures.count(WRONG),
        len(figures) - len(usable) - figures.count(WRONG),
    )
    return table_row((tool, *map(str, counts), f"{geometric_mean(usable):.3f}" if usable else ""))


SECTION = """## Beside other tools

The tools are {tools} and *transformers*, the transformer optimizer that comes with ONNX Runtime; each rewrites the same
file with its default options, the last one with those for a BERT and without the runtime's own. The original, the
original once more (the control) and all results then take turns in one measurement; that of the last table is of this
tool's result alone.

- **Unchanged** is a result with the nodes and constants of the original: it is not timed. What several tools write
  alike is timed once.
- **Wrong** is one whose outputs do not agree with the original's. A tool **fails** where it writes nothing within
  {limit:.0f} s, or a file that does not run. Means are over what is neither.
- **Faster** and **slower** is what differs from the original by more than the noise: the control's interval, 2% at
  least. Bold is the fastest and what is within 2% of it, where that is faster.
- **We are** ahead of the best of the others or behind it by more than that noise, where the 95% intervals do not meet;
  otherwise level.
"""


def section(standings: Mapping[str, Standing]) -> list[str]:
    """The part of a page on all tools, by model: a summary, how to read it, and tables; nothing without models."""
    if not standings:
        return []
    tools = ", ".join(f"{tool} {version}" for tool, version in versions().items() if tool != "transformers")
    places = [standing.place for standing in standings.values()]
    behind = [name for name, standing in standings.items() if standing.place == BEHIND]
    return [
        f"Beside the best of four other tools this one is ahead on {places.count(AHEAD)} of {len(places)} models, "
        f"level on {places.count(LEVEL)} and behind on {', '.join(behind) or 'none'}.",
        "",
        *SECTION.format(tools=tools, limit=LIMIT_S).splitlines(),
        "",
        *table(
            ("tool", "faster", "slower", "wrong", "fails", "geometric mean"),
            (tool_line(tool, tuple(standings.values())) for tool in TOOLS),
        ),
        "",
        *table(("model", *TOOLS, "A/A control", "we are"), (line(name, one) for name, one in standings.items())),
        "",
    ]
