"""Modules of random models: members from a grammar of types, inheritance, generics, aliases, configuration."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.contracts.oracle import IS_OLDER

HEADER = "from __future__ import annotations\n\nfrom tests.contracts.corpus.parts import *\n"
SCALARS = (
    *(
        "int",
        "str",
        "float",
        "bool",
        "bytes",
        "None",
        "Any",
        "Decimal",
        "date",
        "datetime",
        "time",
        "timedelta",
        "UUID",
    ),
    *("HttpUrl", "PositiveInt", "SecretStr", "Color", "Level", "Code", "Count", "Either", "Nothing", "Leaf", "Twig"),
    *("Names", "Box", 'Literal["a"]', 'Literal["b", "a", 3]', "Literal[Color.RED]", "conint(gt=1)"),
    *("constr(max_length=9)", "dict", "list", 'Annotated[Union[Leaf, Twig], Field(discriminator="kind")]'),
)
LIMITED = (
    "Annotated[int, Field(ge=1, lt=9)]",
    "Annotated[int, Gt(1), Le(7)]",
    "Annotated[float, MultipleOf(0.5)]",
    "Annotated[Decimal, Field(gt=0, le=10)]",
    "Annotated[str, Field(min_length=1), MaxLen(8)]",
    "Annotated[str, Field(pattern='^x')]",
    "Annotated[PositiveInt, Le(8)]",
    "Annotated[Code, MaxLen(5)]",
    "Annotated[int, AfterValidator(abs)]",
    "Annotated[str, 'a note']",
    "Annotated[Optional[int], Ge(2)]",
    "Annotated[date, Gt(date(2020, 1, 1))]",
)
HASHABLE = ("int", "str", "Color", "UUID", "date", "Code", 'Literal["x", "y"]', "bool")


ONE = (
    *("list[{0}]", "List[{0}]", "Sequence[{0}]", "tuple[{0}, ...]", "Mapping[str, {0}]", "Optional[{0}]", "Box[{0}]"),
    *("Union[{0}, None]", "Annotated[list[{0}], Len(1, 4)]", "Annotated[{0}, Field(description='some words')]"),
)
TWO = ("tuple[{0}, {1}]", "Union[{0}, {1}]", "Union[{0}, None, {1}]", "dict[str, tuple[{0}, {1}]]")


@st.composite
def annotations(draw: st.DrawFn, models: tuple[str, ...], depth: int = 0) -> str:
    """An annotation that may name these models."""
    how = draw(st.integers(0, 9)) if depth < 3 else 0
    if how <= 4:
        return draw(st.sampled_from((*SCALARS, *LIMITED, *models)))
    inner = draw(annotations(models, depth + 1))
    if how <= 7:
        return draw(st.sampled_from(ONE)).format(inner)
    if how == 8:
        key = draw(st.sampled_from(HASHABLE))
        return draw(st.sampled_from((f"set[{key}]", f"dict[{key}, {inner}]")))
    return draw(st.sampled_from(TWO)).format(inner, draw(annotations(models, depth + 1)))


VALUES = ("", "", "", " = Field()", " = Field(title='T', description='D')", " = Field(default=None)", " = None")
ALIASES = ('alias="{0}Alias"', 'validation_alias="{0}In"', 'serialization_alias="{0}Out"')


@st.composite
def members(draw: st.DrawFn, names: tuple[str, ...], models: tuple[str, ...]) -> str:
    lines = []
    for name in names:
        value = draw(st.sampled_from(VALUES))
        if draw(st.integers(0, 4)) == 0:
            value = f" = Field({draw(st.sampled_from(ALIASES)).format(name)})"
        lines.append(f"    {name}: {draw(annotations(models))}{value}")
    return "\n".join(lines)


CONFIGURATIONS = (
    *("", "", ""),
    "    model_config = ConfigDict(extra='forbid')\n",
    "    model_config = ConfigDict(extra='allow', frozen=True)\n",
    "    model_config = ConfigDict(alias_generator=to_camel)\n",
    "    model_config = {'alias_generator': to_pascal, 'title': 'Other'}\n",
    *(() if IS_OLDER else ("    model_config = ConfigDict(str_max_length=30)\n",)),
)


@st.composite
def modules(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A module's text, and the models to compare."""
    text, models = HEADER, []
    for number in range(draw(st.integers(1, 3))):
        name = f"Model{number}"
        bases = draw(st.sampled_from([("BaseModel",), *((model,) for model in models)]))
        if models and draw(st.integers(0, 5)) == 0:
            bases = (*reversed(models[-2:]),)
        names = tuple(draw(st.lists(st.sampled_from(["first", "second_one", "third"]), min_size=1, unique=True)))
        body = draw(members(names, (*models, name)))
        text += f"\n\nclass {name}({', '.join(bases)}):\n{draw(st.sampled_from(CONFIGURATIONS))}{body}\n"
        models.append(name)
    return text, models
