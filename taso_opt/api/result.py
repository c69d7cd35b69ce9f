"""What `taso_opt.optimize` returns: the model and the report, shown as text on terminals and as HTML in notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from taso_opt.onnx_io import ModelProto
from taso_opt.report.files import check_report_path, write_report
from taso_opt.report.record import Record

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The model after optimization, which is the model before where nothing was gained, and the report of the run."""

    model: ModelProto
    report: Record

    @property
    def improved(self) -> bool:
        """Whether the model is another one: faster, or better by another objective."""
        return self.report.result == "improved"

    @property
    def speedup(self) -> float:
        """How many times as fast as the original the model was measured; 1.0 when it is the original."""
        return self.report.speedup.ratio if self.improved and self.report.speedup is not None else 1.0

    def save_report(self, path: str | Path) -> None:
        """Write the report to FILE.html or FILE.json; UsageError when that is not possible."""
        check_report_path(Path(path))
        write_report(self.report, Path(path))

    def __repr__(self) -> str:
        return f"Result({self.report.result}, speedup={self.speedup:.3f}, rules={len(self.report.rules)})"

    def __rich__(self) -> RenderableType:
        """The report as a terminal shows it."""
        from taso_opt.report.text import render

        return render(self.report)

    def _repr_html_(self) -> str:
        """The report as a notebook shows it: the short form, every name escaped."""
        from taso_opt.report.page import render_summary

        return render_summary(self.report)
