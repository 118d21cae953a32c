"""The network of a cell whose hosts are machines: nothing of it is ours."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmwbench.suite.network.placement import Gang

REAL = "real"


@dataclass(frozen=True)
class RealNetwork:
    """`left_out`: in words, the emulation that the suite asks for and that is not made. `gang`: the
    machines, once they are chosen; a plan has none, and neither has what a bundle stores of a
    cell."""

    hosts: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    gang: "Gang | None" = None

    def definition(self) -> dict[str, Any]:
        """As a cell stores it, in place of the emulated one's."""
        return {"kind": REAL, "hosts": list(self.hosts), "not_emulated": list(self.left_out)}

    def told(self) -> list[str]:
        """In words, as a plan says it."""
        text = f"network: {REAL}, between {', '.join(self.hosts)}; nothing is emulated"
        return [text, *(f"left out: {line}" for line in self.left_out)]
