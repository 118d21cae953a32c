"""Candidates: arms with names, which suites and the command line use.

    arms:
      - native                                        # every candidate of a set
      # some of a set; any other key replaces that of each candidate
      - {set: ros2, without: [rclcpp/zenoh]}
      - rclcpp/zenoh                                  # one candidate
      - {candidate: fastdds sync, name: fastdds}      # one candidate with keys of its own
      - {candidate: zenoh, name: z, in: [native]}     # one that `--candidates native` keeps
      - {name: mine, middleware: zenoh}               # an arm that is no candidate

The shipped candidates are in `suites/candidates.yaml`, a user's own in a file of the same form.
Names of candidates and sets are replaced in the tree of a suite's file before it is validated, so
that all other modules know only arms.
"""

import difflib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from rmwbench.suite.arm import Arm
from rmwbench.suite.fault import At, Fault, Strict, shape
from rmwbench.suite.file import interop_pairs
from rmwbench.suite.file.tree import (
    Place,
    filter_items,
    list_at,
    mapping_at,
    mappings_of,
    name_of,
    place_of,
    replace_items,
)
from rmwbench.suite.name_rules import ArmName

CANDIDATE, SET, WITHOUT, IN = "candidate", "set", "without", "in"
CANDIDATE_KEYS = (IN, "needs")
"""Keys of a candidate that are not keys of its arm."""
SINGLE_KEYS = ("name", CANDIDATE, IN)
"""Keys that an entry for a whole set cannot have."""
Layer = Literal["floor", "native", "rclcpp", "rclpy"]
_LAYERS: Mapping[str, Layer] = {"floor": "floor", "rclcpp": "rclcpp", "rclpy": "rclpy"}
SUGGESTIONS = 3


def layer_of(middleware: str) -> Layer:
    return _LAYERS.get(middleware.partition("/")[0], "native")


class ListedCandidate(Arm):
    """A candidate in its file: an arm, the sets that it is `in`, and its special needs in words."""

    in_: Annotated[tuple[str, ...], Field(strict=False, alias="in")] = ()
    needs: str | None = None


class ListedSet(Strict):
    """A set of candidates; `what` is its purpose. If a candidate of a set publishes by loan, so
    does one of each middleware of the set that lends; `no_loan`: middleware -> the reason for
    none."""

    what: str
    no_loan: dict[str, str] = Field(default_factory=dict)


def _set_mapping(value: Any) -> Any:
    return {"what": value} if isinstance(value, str) else value


class CandidatesFile(Strict):
    """A file of candidates. A set may be its purpose alone."""

    sets: dict[ArmName, Annotated[ListedSet, BeforeValidator(_set_mapping)]] = Field(
        default_factory=dict
    )
    candidates: Annotated[tuple[ListedCandidate, ...], Field(strict=False, min_length=1)]


@dataclass(frozen=True)
class Candidate:
    """`arm` has the keys of an arm in a suite's file, with absolute paths of profiles. `where` is
    file and line."""

    name: str
    arm: Mapping[str, Any]
    sets: tuple[str, ...] = ()
    needs: str | None = None
    where: str = ""

    @property
    def layer(self) -> Layer:
        return layer_of(str(self.arm.get("middleware", "")))


@dataclass(frozen=True)
class Candidates:
    """Candidates and purposes of sets by name, in the order of their files; `no_loan`: set ->
    middleware -> the reason why no candidate of the set lends though the middleware does."""

    by_name: Mapping[str, Candidate] = field(default_factory=dict)
    sets: Mapping[str, str] = field(default_factory=dict)
    no_loan: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [*self.sets, *self.by_name]

    def of_set(self, name: str) -> list[Candidate]:
        return [candidate for candidate in self.by_name.values() if name in candidate.sets]

    def members_of(self, name: object, at: At = ()) -> list[Candidate]:
        """The candidate of that name, or all of the set. Raises Fault with the nearest names."""
        if name in self.sets:
            return self.of_set(str(name))
        if name in self.by_name:
            return [self.by_name[str(name)]]
        raise unknown_name("candidate or set", name, self.names, at=at)

    def and_those(self, other: "Candidates") -> "Candidates":
        """The candidates and sets of both; of those with the same name the other's."""
        return Candidates(
            {**self.by_name, **other.by_name},
            {**self.sets, **other.sets},
            {**self.no_loan, **other.no_loan},
        )


def unknown_name(kind: str, name: object, names: Sequence[str], *, at: At = ()) -> Fault:
    """A Fault for a name that is not in `names`, with the nearest names."""
    fix = "`rmwbench candidates` lists them"
    if close := difflib.get_close_matches(str(name), names, n=SUGGESTIONS, cutoff=0.5):
        fix = f"did you mean {' or '.join(f'`{near_name}`' for near_name in close)}? {fix}"
    expected = "a name of candidates.yaml: " + ", ".join(names)
    return Fault(f"unknown {kind} `{name}`", expected=expected, actual=name, fix=fix, at=at)


def expand_names(arms: Any, candidates: Candidates) -> Any:
    """The list of arms with each name of a candidate or a set replaced by its arms; any other value
    is returned unchanged. Raises Fault, counted from the list."""
    if not isinstance(arms, CommentedSeq):
        return arms
    return replace_items(arms, lambda index, entry, place: _arms(entry, candidates, index, place))


def expand_short(tree: CommentedMap, candidates: Candidates) -> None:
    """Replaces each name of a set in `arms` of `short` by those of its members that the file
    has."""
    short = tree.get("short")
    names = short.get("arms") if isinstance(short, CommentedMap) else None
    if not isinstance(names, CommentedSeq):
        return
    if not any(_is_name_of(name, candidates.sets) for name in names):
        return
    file_arms = [name_of(arm) for arm in tree["arms"]]
    members = [
        candidate.name
        for name in names
        for candidate in candidates.of_set(str(name))
        if name not in file_arms and candidate.name in file_arms
    ]
    own_names = [
        name for name in names if name in file_arms or not _is_name_of(name, candidates.sets)
    ]
    short["arms"] = _arm_list([*own_names, *members], place_of(names))


def _is_name_of(value: object, names: Container[str]) -> bool:
    """Whether a value of a file is one of the names; a list or a mapping is none."""
    return isinstance(value, str) and value in names


def has_references(arms: Any) -> bool:
    """Whether a file's list of arms names candidates or sets."""
    return isinstance(arms, Sequence) and any(_is_reference(arm) for arm in arms)


def _is_reference(arm: Any) -> bool:
    if not isinstance(arm, CommentedMap):
        return isinstance(arm, str)
    return CANDIDATE in arm or SET in arm or _has_sets_in_pairs(arm)


def _has_sets_in_pairs(arm: CommentedMap) -> bool:
    sides = arm.get(interop_pairs.KEY)
    return isinstance(sides, CommentedSeq) and any(
        isinstance(side, CommentedMap) and SET in side for side in sides
    )


def _arms(entry: Any, candidates: Candidates, index: int, place: Place) -> list[Any]:
    if isinstance(entry, str):
        return [
            mapping_at(member.arm, place) for member in candidates.members_of(str(entry), (index,))
        ]
    if not isinstance(entry, CommentedMap):
        return [entry]
    if _has_sets_in_pairs(entry):
        return [_with_sides(entry, candidates, index, place)]
    if CANDIDATE in entry and SET in entry:
        raise Fault(
            "`candidate` and `set` contradict each other",
            expected="one of them",
            actual=f"both `{entry[CANDIDATE]}` and `{entry[SET]}`",
            at=(index, SET),
        )
    if CANDIDATE in entry:
        if not _is_name_of(entry[CANDIDATE], candidates.by_name):
            raise unknown_name(
                "candidate", entry[CANDIDATE], list(candidates.by_name), at=(index, CANDIDATE)
            )
        arm = candidates.by_name[entry[CANDIDATE]].arm
        return [mapping_at({**arm, **_without(entry, CANDIDATE)}, place)]
    if SET not in entry:
        return [entry]
    for key in SINGLE_KEYS:
        if key in entry:
            raise Fault(
                f"`{key}` and `set` contradict each other",
                expected="keys for each candidate of the set, or a single `candidate`",
                actual=f"`{key}` of a whole set",
                at=(index, key),
            )
    return [
        mapping_at({**candidate.arm, **_without(entry, SET, WITHOUT)}, place)
        for candidate in _of_set(entry, candidates, (index,))
    ]


def _without(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


def _of_set(entry: CommentedMap, candidates: Candidates, at: At) -> list[Candidate]:
    """The candidates of an entry's `set` that are not in its `without`."""
    name = entry[SET]
    if not _is_name_of(name, candidates.sets):
        raise unknown_name("set", name, list(candidates.sets), at=(*at, SET))
    members = candidates.of_set(name)
    names = [member.name for member in members]
    without = entry.get(WITHOUT, ())
    if not isinstance(without, CommentedSeq | tuple):
        raise Fault(
            "`without` is not a list",
            expected="names of the set's candidates",
            actual=shape(without),
            at=(*at, WITHOUT),
        )
    for position, member_name in enumerate(without):
        if member_name not in names:
            raise unknown_name(
                f"candidate of `{name}`", member_name, names, at=(*at, WITHOUT, position)
            )
    return [member for member in members if member.name not in without]


def _with_sides(
    entry: CommentedMap, candidates: Candidates, index: int, place: Place
) -> CommentedMap:
    """An entry of `pairs` with its sets replaced by their candidates."""

    def sides_of(position: int, side: Any, side_place: Place) -> list[Any]:
        return _sides(side, candidates, (index, interop_pairs.KEY, position), side_place)

    sides = replace_items(entry[interop_pairs.KEY], sides_of)
    return mapping_at({**entry, interop_pairs.KEY: sides}, place)


def _sides(side: Any, candidates: Candidates, at: At, place: Place) -> list[Any]:
    """The sides of a set's candidates, without names, so that pairs name them by their middlewares;
    a side without a set is returned alone."""
    if not isinstance(side, CommentedMap) or SET not in side:
        return [side]
    own_keys = _without(side, SET, WITHOUT)
    return [
        mapping_at({**_side_settings(candidate.arm), **own_keys}, place)
        for candidate in _of_set(side, candidates, at)
    ]


def _side_settings(arm: Mapping[str, Any]) -> dict[str, Any]:
    keys = [key for key in interop_pairs.SIDE_KEYS if key != "name"]
    return {key: value for key, value in arm.items() if key in keys}


@dataclass(frozen=True)
class Choice:
    """The options of the command line about a suite's arms: `candidates` replaces them (except the
    floor, and arms of the suite's own that are `in` one of the sets), `added` adds arms, `without`
    removes arms; each word is a name, a set or the path of a file. `profiles` adds an arm for each
    `MIDDLEWARE=FILE`. `written` are the arms of a campaign that is resumed, whatever the candidates
    are now. `network` is the network between the hosts of every workload (networks_file.py)."""

    candidates: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    written: tuple[Mapping[str, Any], ...] | None = None
    profiles: tuple[str, ...] = ()
    network: str | None = None

    def adding(self, names: Iterable[str]) -> "Choice":
        """The choice that also adds these, each once."""
        return replace(self, added=tuple(dict.fromkeys((*self.added, *names))))

    def leaving(self, names: Iterable[str]) -> "Choice":
        """The choice that also removes these."""
        return replace(self, without=tuple(dict.fromkeys((*self.without, *names))))

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command line that choose the arms so."""
        words_of_option = {
            "--candidates": self.candidates,
            WITH: self.added,
            "--without": self.without,
            PROFILE: self.profiles,
        }
        pairs = ((option, word) for option, words in words_of_option.items() for word in words)
        return tuple(text for pair in pairs for text in pair)

    @property
    def changes(self) -> bool:
        """Whether it changes the arms."""
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
"""Options each of whose words adds an arm to the suite."""
FILE_SUFFIXES = (".yaml", ".yml")


def is_file(word: str) -> bool:
    return word.endswith(FILE_SUFFIXES)


def apply_choice(
    arms: CommentedSeq,
    choice: Choice,
    candidates_of_word: Callable[[str, str], Iterable[Candidate]],
    candidates: Candidates,
    place: Place,
) -> CommentedSeq:
    """The arms of a suite with the choice applied. `candidates_of_word` returns the candidates of a
    word of an option; added arms are at `place`. Raises Fault where there is no arm to remove,
    where an added arm has the name of another one, and where a word of --with or --profile adds
    none."""
    if choice.written is not None:
        return _arm_list([mapping_at(arm, place) for arm in choice.written], place)
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
                    expected="an arm that it does not have",
                    actual=", ".join(name_of(arm) for arm in chosen_arms),
                    fix=f"leave {option} out",
                    at=(option,),
                )
    for word in choice.without:
        members = (
            candidates_of_word(word, "--without") if is_file(word) else candidates.of_set(word)
        )
        chosen_arms = _remaining(chosen_arms, word, [member.name for member in members], candidates)
    return _arm_list(chosen_arms, place)


def _add(candidate: Candidate, arms: list[Any], option: str, place: Place) -> None:
    """Appends a candidate, unless the arms have it. Raises Fault where another arm has its name."""
    same_name = next((arm for arm in arms if name_of(arm) == candidate.name), None)
    if same_name is None:
        arms.append(mapping_at(candidate.arm, place))
    elif _settings(same_name) != _settings(candidate.arm):
        raise Fault(
            f"the suite has an arm `{candidate.name}` already, which differs from the candidate",
            expected="a candidate under a name of its own",
            actual=f"{_settings_text(same_name)}; the candidate: {_settings_text(candidate.arm)}",
            fix="give it another name in a file of your own",
            at=(option,),
        )


def _remaining(
    arms: Sequence[Any], word: str, members: Sequence[str], candidates: Candidates
) -> list[Any]:
    """The arms except the one that a word names, those in the set of that name, and the `members`
    of the set or the file. Raises Fault where no arm is removed."""
    remaining = [
        arm for arm in arms if name_of(arm) not in (word, *members) and word not in _sets_of(arm)
    ]
    if len(remaining) == len(arms):
        names = [name_of(arm) for arm in arms]
        sets = [
            name
            for name in candidates.sets
            if any(c.name in names for c in candidates.of_set(name))
        ]
        raise unknown_name("arm of this suite", word, [*names, *sets], at=("--without",))
    return remaining


def remove_sets(tree: CommentedMap, candidates: Candidates) -> None:
    """Removes the key `in` of a suite's own arms, which the model of an arm does not have. Raises
    Fault, counted from the list of arms, for an unknown set."""
    for index, arm in mappings_of(tree, "arms"):
        if IN not in arm:
            continue
        sets = arm[IN] if isinstance(arm[IN], CommentedSeq) else [arm[IN]]
        for position, name in enumerate(sets):
            if not _is_name_of(name, candidates.sets):
                raise unknown_name("set", name, list(candidates.sets), at=(index, IN, position))
        del arm[IN]


def remove_references(tree: CommentedMap, own_names: Sequence[str]) -> None:
    """Removes references to arms that the command line removed: comparisons against them,
    exclusions, their entries in a short version. Arms that are not among the file's `own_names` get
    an entry there."""
    names = [name_of(arm) for arm in tree["arms"]]
    for arm in tree["arms"]:
        if isinstance(arm, CommentedMap) and arm.get("against") not in (None, *names):
            del arm["against"]
    short = tree.get("short")
    for section in (tree, short):
        if isinstance(section, CommentedMap) and isinstance(section.get("exclude"), CommentedSeq):
            section["exclude"] = filter_items(
                section["exclude"], lambda rule: _arm_of(rule) in (None, *names)
            )
    if not isinstance(short, CommentedMap) or not isinstance(short.get("arms"), CommentedSeq):
        return
    short_arms = filter_items(short["arms"], lambda name: name in names)
    new_arms = [name for name in names if name not in own_names]
    arms = _arm_list([*short_arms, *new_arms], place_of(short["arms"]))
    if arms:
        short["arms"] = arms
    else:
        del short["arms"]
    if not short:
        del tree["short"]


def _arm_of(rule: Any) -> Any:
    return rule.get("arm") if isinstance(rule, CommentedMap) else None


def _arm_list(arms: Iterable[Any], place: Place) -> CommentedSeq:
    """A list of arms, each at its own place, or at that of the list."""
    return list_at(
        ((arm, place_of(arm) if isinstance(arm, CommentedMap) else place) for arm in arms), place
    )


def _sets_of(arm: Any) -> set[str]:
    """The sets that a suite's own arm is `in`."""
    sets = arm.get(IN) if isinstance(arm, Mapping) else None
    return {str(name) for name in sets} if isinstance(sets, CommentedSeq) else set()


def _is_floor(arm: Any) -> bool:
    return isinstance(arm, Mapping) and "floor" in (arm.get("role"), arm.get("middleware"))


def _settings(arm: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an arm, without its comparison and its sets."""
    return {"wait": "block", **_without(arm, "against", "optional", IN)}


def _settings_text(arm: Mapping[str, Any]) -> str:
    settings = _without(arm, "name", "against", "optional")
    return ", ".join(f"{key} {value}" for key, value in settings.items())
