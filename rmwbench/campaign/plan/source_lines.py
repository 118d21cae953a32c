"""Where in the suite's file a cell's settings stand, for errors that are found only after the file
was read."""

from dataclasses import dataclass

from rmwbench.suite.cells import Cell
from rmwbench.suite.factors import OPTION_PREFIX
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import added, line_of
from rmwbench.suite.side import MODE_PREFIX
from rmwbench.suite.suite import Suite


@dataclass(frozen=True)
class Places:
    """`file` is how the suite's file is shown, `text` what stands in it."""

    file: str
    text: str
    suite: Suite
    shortened: bool = False
    choice: Choice = NO_CHOICE

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the arms that the command line adds."""
        return added(self.text, where=self.file, choice=self.choice)

    def arm(self, cell: Cell, *keys: str) -> str:
        """`quick.yaml:17`: the arm of the cell, or a key of it, or the factor that sets that
        key."""
        number = next(i for i, arm in enumerate(self.suite.arms) if arm.name == cell.arm.name)
        for factor in (keys[-1], OPTION_PREFIX + keys[-1], MODE_PREFIX + keys[-1]) if keys else ():
            if factor in cell.factors:
                return self._line("factors", factor)
        return self._line("arms", number, *keys)

    def side(self, cell: Cell, process: str, *keys: str) -> str:
        """The line of a key of what a process runs, which may be an override of the arm's."""
        key = cell.arm.key_of(process)
        return self.arm(cell, *(() if key is None else ("processes", key)), *keys)

    def workload(self, cell: Cell, *keys: str) -> str:
        number = next(
            i
            for i, workload in enumerate(self.suite.workloads)
            if workload.name == cell.workload.name
        )
        return self._line("workloads", number, *keys)

    def at(self, *path: str | int) -> str:
        """Any other part of the file, from its top."""
        return self._line(*path)

    def _line(self, *path: str | int) -> str:
        return (
            f"{self.file}:{line_of(self.text, path, shortened=self.shortened, choice=self.choice)}"
        )
