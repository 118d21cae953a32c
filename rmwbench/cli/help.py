"""Help as plain text: the library that draws frames around it takes longer to import than all verbs
together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context


HELP_OPTIONS = ["--help", "-h"]


class PlainGroup(TyperGroup):
    """A group whose help lists each verb with its whole first paragraph."""

    SECTIONS: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Title -> its verbs in order; empty if all verbs stand below one title in the order of their
    registration."""

    def list_commands(self, ctx: "Context") -> list[str]:
        names = super().list_commands(ctx)
        order = [name for section in self.SECTIONS.values() for name in section]
        return sorted(names, key=order.index) if order else names

    def format_commands(self, ctx: "Context", formatter: Any) -> None:
        for title, names in (self.SECTIONS or {"Commands": self.list_commands(ctx)}).items():
            verbs = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [(name, (verb.help or "").partition("\n\n")[0]) for name, verb in verbs if verb]
                )


class NamesOrVerbs(PlainGroup):
    """A group that may be called with names instead of one of its verbs: they are the arguments of
    its verb `show`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        is_known = bool(args) and args[0] in (*HELP_OPTIONS, *self.commands)
        completing = ctx.resilient_parsing and not args
        return super().parse_args(ctx, args if is_known or completing else ["show", *args])
