"""Candidates: what is compared, written down once and named by suites and on the command line.

    arms:
      - native                                        # every candidate of a set
      # some of a set; any other key replaces that of each
      - {set: ros2, without: [rclcpp/zenoh]}
      - rclcpp/zenoh                                  # one candidate
      - {candidate: fastdds sync, name: fastdds}      # one, with keys of its own
      - {candidate: zenoh, name: z, in: [native]}     # and `--candidates native` keeps it
      - {name: mine, middleware: zenoh}               # or an arm that stands in no file but this

The shipped ones are in `suites/candidates.yaml`, a user's own in a file of the same form. Written
out in the tree of the suite's file before anything is validated, as pairs are: everything behind
knows arms only.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.arm import Arm
from rmwbench.suite.fault import Fault, Strict
from rmwbench.suite.file import interop_pairs
from rmwbench.suite.file.lines import Place, filtered, listed, place_of, placed, replaced
from rmwbench.suite.name_rules import ArmName

CANDIDATE, SET, WITHOUT, IN = "candidate", "set", "without", "in"
OF_THE_FILE = (IN, "needs")
"""Keys of a candidate that are not keys of its arm."""
ONE_EACH = ("name", CANDIDATE, IN)
"""Keys that a whole set cannot have."""
Layer = Literal["floor", "native", "rclcpp", "rclpy"]
_LAYERS: Mapping[str, Layer] = {"floor": "floor", "rclcpp": "rclcpp", "rclpy": "rclpy"}
NEAR = 3


def layer_of(middleware: str) -> Layer:
    """The layer of a middleware, as its name tells."""
    return _LAYERS.get(middleware.partition("/")[0], "native")


class ListedCandidate(Arm):
    """A candidate in its file: an arm, the sets that it is `in`, and what it `needs` that no other
    has, in words."""

    in_: Annotated[tuple[str, ...], Field(strict=False, alias="in")] = ()
    needs: str | None = None


class ListedSet(Strict):
    """`what` it is for. Where a candidate of a set publishes by loan, each middleware of the set
    that lends has one that does; `no_loan`: middleware -> why it has none."""

    what: str
    no_loan: dict[str, str] = Field(default_factory=dict)


class CandidatesFile(Strict):
    """`sets`: name -> what it is for, or that with more."""

    sets: dict[ArmName, str | ListedSet] = Field(default_factory=dict)
    candidates: Annotated[tuple[ListedCandidate, ...], Field(strict=False, min_length=1)]

    @property
    def texts(self) -> dict[str, str]:
        return {
            name: declared if isinstance(declared, str) else declared.what
            for name, declared in self.sets.items()
        }

    @property
    def no_loan(self) -> dict[str, dict[str, str]]:
        return {
            name: {} if isinstance(declared, str) else declared.no_loan
            for name, declared in self.sets.items()
        }


@dataclass(frozen=True)
class Candidate:
    """`arm` is what a suite's file would say of it, with the paths of profiles absolute. `where`:
    file and line."""

    name: str
    arm: Mapping[str, Any]
    sets: tuple[str, ...] = ()
    needs: str | None = None
    where: str = ""

    @property
    def layer(self) -> Layer:
        """The layer of its middleware."""
        return layer_of(str(self.arm.get("middleware", "")))


@dataclass(frozen=True)
class Candidates:
    """Candidates and sets by name, in the order of their files; `no_loan`: set -> middleware ->
    why no candidate of the set lends though the middleware does."""

    by_name: Mapping[str, Candidate] = field(default_factory=dict)
    sets: Mapping[str, str] = field(default_factory=dict)
    no_loan: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [*self.sets, *self.by_name]

    def of_set(self, name: str) -> list[Candidate]:
        return [candidate for candidate in self.by_name.values() if name in candidate.sets]

    def members_of(self, name: object, at: tuple[str | int, ...] = ()) -> list[Candidate]:
        """The one of that name, or all of the set. Raises Fault with the nearest names."""
        if name in self.sets:
            return self.of_set(str(name))
        if name in self.by_name:
            return [self.by_name[str(name)]]
        raise unknown_name("candidate or set", name, self.names, at=at)

    def and_those(self, other: "Candidates") -> "Candidates":
        """The candidates and sets of both; where both have a name, the other's counts."""
        return Candidates(
            {**self.by_name, **other.by_name},
            {**self.sets, **other.sets},
            {**self.no_loan, **other.no_loan},
        )


def unknown_name(
    kind: str, name: object, known: Sequence[str], *, at: tuple[str | int, ...] = ()
) -> Fault:
    """A Fault with the nearest of many names, and where all of them are listed."""
    close = difflib.get_close_matches(str(name), known, n=NEAR, cutoff=0.5)
    listed = "`rmwbench candidates` lists them"
    fix = (
        f"did you mean {' or '.join(f'`{near_name}`' for near_name in close)}? {listed}"
        if close
        else listed
    )
    expected = "a name of candidates.yaml: " + ", ".join(known)
    return Fault(f"unknown {kind} `{name}`", expected=expected, actual=name, fix=fix, at=at)


def expanded(arms: Any, known: Candidates) -> Any:
    """The list of arms with each name of a candidate or a set replaced by its arms; anything else
    as it is. Raises Fault, counted from the list."""
    if not isinstance(arms, CommentedSeq):
        return arms
    return replaced(arms, lambda index, entry, place: _arms(entry, known, index, place))


def expand_short(tree: CommentedMap, known: Candidates) -> None:
    """Replaces each name of a set under `short`, `arms` by those of its members that the file
    has."""
    short = tree.get("short")
    names = short.get("arms") if isinstance(short, CommentedMap) else None
    if not isinstance(names, CommentedSeq) or not any(name in known.sets for name in names):
        return
    file_arms = [_name(arm) for arm in tree["arms"]]
    members = [
        candidate.name
        for name in names
        for candidate in known.of_set(str(name))
        if name not in file_arms and candidate.name in file_arms
    ]
    own_names = [name for name in names if name in file_arms or name not in known.sets]
    short["arms"] = _listed([*own_names, *members], place_of(names))


def refers(arms: Any) -> bool:
    """Whether a file's list of arms says less than all by itself."""
    return isinstance(arms, Sequence) and any(_refers(arm) for arm in arms)


def _refers(arm: Any) -> bool:
    if not isinstance(arm, CommentedMap):
        return isinstance(arm, str)
    return CANDIDATE in arm or SET in arm or _refers_in_pairs(arm)


def _refers_in_pairs(arm: CommentedMap) -> bool:
    sides = arm.get(interop_pairs.KEY)
    return isinstance(sides, CommentedSeq) and any(
        isinstance(side, CommentedMap) and SET in side for side in sides
    )


def _arms(entry: Any, known: Candidates, index: int, place: Place) -> list[Any]:
    if isinstance(entry, str):
        return [placed(member.arm, place) for member in known.members_of(str(entry), (index,))]
    if not isinstance(entry, CommentedMap):
        return [entry]
    if _refers_in_pairs(entry):
        return [_with_sides(entry, known, index, place)]
    if CANDIDATE in entry and SET in entry:
        raise Fault(
            "`candidate` and `set` contradict each other",
            expected="one of them",
            actual=f"both `{entry[CANDIDATE]}` and `{entry[SET]}`",
            at=(index, SET),
        )
    if CANDIDATE in entry:
        if entry[CANDIDATE] not in known.by_name:
            raise unknown_name(
                "candidate", entry[CANDIDATE], list(known.by_name), at=(index, CANDIDATE)
            )
        arm = known.by_name[entry[CANDIDATE]].arm
        return [placed({**arm, **_without(entry, CANDIDATE)}, place)]
    if SET not in entry:
        return [entry]
    for key in ONE_EACH:
        if key in entry:
            raise Fault(
                f"`{key}` and `set` contradict each other",
                expected="keys that each of the set can have; a single one by `candidate`",
                actual=f"`{key}` of a whole set",
                at=(index, key),
            )
    return [
        placed({**candidate.arm, **_without(entry, SET, WITHOUT)}, place)
        for candidate in _of_set(entry, known, (index,))
    ]


def _without(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


def _of_set(entry: CommentedMap, known: Candidates, at: tuple[str | int, ...]) -> list[Candidate]:
    name = entry[SET]
    if name not in known.sets:
        raise unknown_name("set", name, list(known.sets), at=(*at, SET))
    members = known.of_set(name)
    names = [member.name for member in members]
    without = entry.get(WITHOUT, ())
    if not isinstance(without, CommentedSeq | tuple):
        raise Fault(
            "`without` is a list",
            expected="names of the set's candidates",
            actual=str(without),
            at=(*at, WITHOUT),
        )
    for position, member_name in enumerate(without):
        if member_name not in names:
            raise unknown_name(
                f"candidate of `{name}`", member_name, names, at=(*at, WITHOUT, position)
            )
    return [member for member in members if member.name not in without]


def _with_sides(entry: CommentedMap, known: Candidates, index: int, place: Place) -> CommentedMap:
    """An entry of `pairs` whose sets are written out."""

    def sides_of(position: int, side: Any, side_place: Place) -> list[Any]:
        return _sides(side, known, (index, interop_pairs.KEY, position), side_place)

    sides = replaced(entry[interop_pairs.KEY], sides_of)
    return placed({**entry, interop_pairs.KEY: sides}, place)


def _sides(side: Any, known: Candidates, at: tuple[str | int, ...], place: Place) -> list[Any]:
    """A side, or those of its set: each is called by its middleware, as one written by hand is."""
    if not isinstance(side, CommentedMap) or SET not in side:
        return [side]
    own_keys = _without(side, SET, WITHOUT)
    return [
        placed({**_side_settings(candidate.arm), **own_keys}, place)
        for candidate in _of_set(side, known, at)
    ]


def _side_settings(arm: Mapping[str, Any]) -> dict[str, Any]:
    keys = [key for key in interop_pairs.SIDE_KEYS if key != "name"]
    return {key: value for key, value in arm.items() if key in keys}


@dataclass(frozen=True)
class Choice:
    """What the command line says of a suite's arms: other `candidates` in their place (the floor
    stays, and an arm of the suite's own that is `in` one of the sets), those `added` to them, those
    left out (`without`); each a name, a set or the path of a file. `profiles`: an arm more for each
    `MIDDLEWARE=FILE`. `written`: the arms of a campaign that is resumed, whatever the candidates
    have become. `network`: what lies between the hosts of every workload (networks_file.py)."""

    candidates: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    written: tuple[Mapping[str, Any], ...] | None = None
    profiles: tuple[str, ...] = ()
    network: str | None = None

    def adding(self, names: Iterable[str]) -> "Choice":
        """The choice with these added as well, each once."""
        return replace(self, added=tuple(dict.fromkeys((*self.added, *names))))

    def leaving(self, names: Iterable[str]) -> "Choice":
        """The choice without these as well."""
        return replace(self, without=tuple(dict.fromkeys((*self.without, *names))))

    @property
    def changes(self) -> bool:
        """Whether it says anything of the arms."""
        words = self.candidates or self.added or self.without or self.profiles
        return bool(words or self.written is not None)

    @property
    def files(self) -> tuple[str, ...]:
        """The words that are paths of files."""
        return tuple(
            word for word in (*self.candidates, *self.added, *self.without) if is_file(word)
        )


NO_CHOICE = Choice()
WITH, PROFILE = "--with", "--profile"
ADDING = (WITH, PROFILE)
"""Options each of whose words adds an arm to those that the suite has."""
FILE_SUFFIXES = (".yaml", ".yml")


def is_file(word: str) -> bool:
    return word.endswith(FILE_SUFFIXES)


def chosen(
    arms: CommentedSeq,
    choice: Choice,
    candidates_of_word: Callable[[str, str], Iterable[Candidate]],
    known: Candidates,
    place: Place,
) -> CommentedSeq:
    """A suite's arms as the command line wants them. `candidates_of_word`: a word and the option that
    it stands behind, to candidates; what comes stands at `place`. Raises Fault for what is not there
    to be left out, or there already: unlike, or all that a word of --with names."""
    if choice.written is not None:
        return _listed([placed(arm, place) for arm in choice.written], place)
    chosen_arms = list(arms)
    if choice.candidates:
        chosen_arms = [
            arm for arm in arms if _is_floor(arm) or _sets_of(arm) & {*choice.candidates}
        ]
    options = (
        ("--candidates", choice.candidates),
        (WITH, choice.added),
        (PROFILE, choice.profiles),
    )
    for option, words in options:
        for word in words:
            count = len(chosen_arms)
            for candidate in candidates_of_word(word, option):
                _add(candidate, chosen_arms, option, place)
            if len(chosen_arms) == count and option in ADDING:
                raise Fault(
                    f"the suite has `{word}` already",
                    expected="an arm that it has not",
                    actual=", ".join(_name(arm) for arm in chosen_arms),
                    fix=f"leave {option} out",
                    at=(option,),
                )
    for word in choice.without:
        in_file = candidates_of_word(word, "--without") if is_file(word) else known.of_set(word)
        chosen_arms = _leave_out(chosen_arms, word, [member.name for member in in_file], known)
    return _listed(chosen_arms, place)


def _add(candidate: Candidate, arms: list[Any], option: str, place: Place) -> None:
    """Puts a candidate behind the arms, unless it is there. Raises Fault where another arm has its
    name."""
    same_name = next((arm for arm in arms if _name(arm) == candidate.name), None)
    if same_name is None:
        arms.append(placed(candidate.arm, place))
    elif _settings(same_name) != _settings(candidate.arm):
        raise Fault(
            f"the suite has an arm `{candidate.name}` already, which is another than the candidate",
            expected="a candidate under a name of its own",
            actual=f"{_settings_text(same_name)}; the candidate: {_settings_text(candidate.arm)}",
            fix="give it another name in a file of your own",
            at=(option,),
        )


def _leave_out(
    arms: Sequence[Any], word: str, members: Sequence[str], known: Candidates
) -> list[Any]:
    """The arms but for the one that a word names, those that are in the set of that name, and the
    `members` of the set or the file. Raises Fault where there is none of them."""
    remaining = [
        arm for arm in arms if _name(arm) not in (word, *members) and word not in _sets_of(arm)
    ]
    if len(remaining) == len(arms):
        names = [_name(arm) for arm in arms]
        sets = [name for name in known.sets if any(c.name in names for c in known.of_set(name))]
        raise unknown_name("arm of this suite", word, [*names, *sets], at=("--without",))
    return remaining


def without_sets(arms: Any, known: Candidates) -> None:
    """Takes away what `chosen` has read: the sets that a suite's own arm is `in` are no key of an
    arm. Raises Fault, counted from the list, for a set that there is not."""
    for index, arm in enumerate(arms if isinstance(arms, CommentedSeq) else ()):
        if not isinstance(arm, CommentedMap) or IN not in arm:
            continue
        sets = arm[IN] if isinstance(arm[IN], CommentedSeq) else [arm[IN]]
        for position, name in enumerate(sets):
            if name not in known.sets:
                raise unknown_name("set", name, list(known.sets), at=(index, IN, position))
        del arm[IN]


def tidy(tree: CommentedMap, own_names: Sequence[str]) -> None:
    """Takes away what the file says of arms that the command line took away: comparisons against
    them, exclusions, their place in a short version. Arms that are none of the file's `own_names`
    get one."""
    names = [_name(arm) for arm in tree["arms"]]
    for arm in tree["arms"]:
        if isinstance(arm, CommentedMap) and arm.get("against") not in (None, *names):
            del arm["against"]
    short = tree.get("short")
    for section in (tree, short):
        if isinstance(section, CommentedMap) and isinstance(section.get("exclude"), CommentedSeq):
            section["exclude"] = filtered(
                section["exclude"], lambda rule: _arm_of(rule) in (None, *names)
            )
    if not isinstance(short, CommentedMap) or not isinstance(short.get("arms"), CommentedSeq):
        return
    short_arms = filtered(short["arms"], lambda name: name in names)
    new_arms = [name for name in names if name not in own_names]
    arms = _listed([*short_arms, *new_arms], place_of(short["arms"]))
    if arms:
        short["arms"] = arms
    else:
        del short["arms"]
    if not short:
        del tree["short"]


def _arm_of(rule: Any) -> Any:
    return rule.get("arm") if isinstance(rule, CommentedMap) else None


def _listed(arms: Iterable[Any], place: Place) -> CommentedSeq:
    """A list of arms, each with its own place, or with that of the list."""
    return listed(
        ((arm, place_of(arm) if isinstance(arm, CommentedMap) else place) for arm in arms), place
    )


def _name(arm: Any) -> str:
    return str(arm.get("name")) if isinstance(arm, Mapping) else str(arm)


def _sets_of(arm: Any) -> set[str]:
    """The sets that a suite's own arm says it is `in`."""
    sets = arm.get(IN) if isinstance(arm, Mapping) else None
    return {str(name) for name in sets} if isinstance(sets, CommentedSeq) else set()


def _is_floor(arm: Any) -> bool:
    return isinstance(arm, Mapping) and "floor" in (arm.get("role"), arm.get("middleware"))


def _settings(arm: Mapping[str, Any]) -> dict[str, Any]:
    """What an arm is, whatever it is held against."""
    return {"wait": "block", **_without(arm, "against", "optional", IN)}


def _settings_text(arm: Mapping[str, Any]) -> str:
    settings = _without(arm, "name", "against", "optional")
    return ", ".join(f"{key} {value}" for key, value in settings.items())
