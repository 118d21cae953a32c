"""The lines of the suite's file that have a cell's settings, for errors that are found after the
file was read."""

from dataclasses import dataclass

from rmwbench.suite.arm import MODE_PREFIX
from rmwbench.suite.cells import Cell
from rmwbench.suite.factors import OPTION_PREFIX
from rmwbench.suite.file.candidate_list import NO_CHOICE, Choice
from rmwbench.suite.file.load import added_arms, line_of
from rmwbench.suite.suite import Suite


@dataclass(frozen=True)
class Places:
    """The lines of a suite: `file` is its path as shown, `text` its content."""

    file: str
    text: str
    suite: Suite
    shortened: bool = False
    choice: Choice = NO_CHOICE

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the arms that the command line adds."""
        return added_arms(self.text, where=self.file, choice=self.choice)

    def arm(self, cell: Cell, *keys: str) -> str:
        """Return the line of the cell's arm, of a key of it, or of the factor that sets the key,
        like `quick.yaml:17`."""
        number = next(i for i, arm in enumerate(self.suite.arms) if arm.name == cell.arm.name)
        for factor in (keys[-1], OPTION_PREFIX + keys[-1], MODE_PREFIX + keys[-1]) if keys else ():
            if factor in cell.factors:
                return self.at("factors", factor)
        return self.at("arms", number, *keys)

    def side(self, cell: Cell, process: str, *keys: str) -> str:
        """Return the line of a key of a process's side, which may override the arm's."""
        key = cell.arm.key_of(process)
        return self.arm(cell, *(() if key is None else ("processes", key)), *keys)

    def workload(self, cell: Cell, *keys: str) -> str:
        number = next(
            i
            for i, workload in enumerate(self.suite.workloads)
            if workload.name == cell.workload.name
        )
        return self.at("workloads", number, *keys)

    def at(self, *path: str | int) -> str:
        """Return the line of a path of keys from the top of the file."""
        line = line_of(self.text, path, shortened=self.shortened, choice=self.choice)
        return f"{self.file}:{line}"
