"""Help as plain text: what draws frames around it takes longer to import than all verbs
together."""

from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context


HELP_OPTIONS = ["--help", "-h"]


class PlainGroup(TyperGroup):
    """A list of verbs, each with its whole first paragraph. `ORDER`: the verbs' order where it is
    not that in which they were added."""

    ORDER: tuple[str, ...] = ()

    def list_commands(self, ctx: "Context") -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=self.ORDER.index) if self.ORDER else names

    def format_commands(self, ctx: "Context", formatter: Any) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (verb.help or "").partition("\n\n")[0]) for name, verb in found if verb]
            )


class NamesOrVerbs(PlainGroup):
    """A verb that is mostly given names, and has verbs of its own besides: without one of these,
    the names are those of its verb `show`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        own = bool(args) and args[0] in (*HELP_OPTIONS, *self.commands)
        completing = ctx.resilient_parsing and not args
        return super().parse_args(ctx, args if own or completing else ["show", *args])
