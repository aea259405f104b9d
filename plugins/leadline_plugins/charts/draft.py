"""A chart on its way: as it is planned now, and what has been wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from leadline.records import Chart
from leadline_plugins.charts.planning import Material, planned
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.tasks import PlannedChart


@dataclass(eq=False)
class Draft:
    """A chart on its way: as it is planned now, what is wrong with it, and for what it was refused before."""

    plan: PlannedChart
    place: int
    problem: str = ""
    refused: list[str] = field(default_factory=list)
    repairs: int = 0
    turned: str = ""
    """Why it is drawn in another form than planned."""
    partial: frozenset[Point] = frozenset()
    """The points of which the quotes say only a part."""
    first: PlannedChart = field(init=False)
    """As it was planned, before anybody put it right."""

    def __post_init__(self) -> None:
        self.first = self.plan

    def refuse(self, why: str) -> None:
        """Give it up."""
        self.problem = why

    def planned(self, material: Material) -> Chart:
        """Return the chart that a runner draws."""
        return planned(self.plan, self.place, material, self.partial)

    def kept(self, material: Material) -> Chart:
        """Return the chart as it was drawn last, or refused, with the reasons."""
        refused = (*self.refused, self.problem) if self.problem else tuple(self.refused)
        return self.planned(material).model_copy(update={"refused": tuple(dict.fromkeys(refused))})
