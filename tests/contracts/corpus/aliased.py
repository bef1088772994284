"""Names on the wire that are not the members' own."""

from typing import Annotated, Optional

from pydantic import AliasChoices, AliasGenerator, AliasPath, BaseModel, ConfigDict, Field, computed_field
from pydantic.alias_generators import to_camel, to_pascal, to_snake


class Aliases(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    order_id: str = Field(alias="orderId")
    read: int = Field(validation_alias="readAs")
    written: int = Field(serialization_alias="writtenAs")
    both: int = Field(alias="a", validation_alias="b")
    choice: int = Field(validation_alias=AliasChoices("first", "second"))
    path: int = Field(validation_alias=AliasPath("outer", 0))
    mixed: int = Field(validation_alias=AliasChoices(AliasPath("outer", "inner"), "flat"))
    annotated: Annotated[int, Field(alias="inAnnotated")]
    optional: Optional[int] = Field(None, alias="maybe")


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)
    order_id: str
    line_2_text: str = ""
    already: int
    explicit_one: int = Field(alias="explicit")
    written_only: int = Field(serialization_alias="w")


class Pascal(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal)
    order_id: str


class Snake(BaseModel):
    model_config = ConfigDict(alias_generator=to_snake)
    orderId: str
    HTTPStatus2: int


class Generated(BaseModel):
    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=to_camel, serialization_alias=to_pascal))
    order_id: str


class PascalThenCamel(Pascal):
    model_config = ConfigDict(alias_generator=to_camel)
    another_field: int


class WrittenUnderPascal(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal)
    order_id: str = Field(serialization_alias="written")
    line_id: str


class WrittenUnderPascalThenCamel(WrittenUnderPascal):
    model_config = ConfigDict(alias_generator=to_camel)


class CamelChild(Camel):
    another_field: int


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    order_id: str = Field(alias="orderId")


class Computed(BaseModel):
    width: int
    height: int

    @computed_field
    @property
    def area(self) -> int:
        return self.width * self.height

    @computed_field(alias="perimeterLength")
    def perimeter(self) -> int:
        return 2 * (self.width + self.height)


class Silent(BaseModel):
    a: int = Field(exclude=True)
    b: int = Field(repr=False, frozen=True)
    c: int = Field(deprecated="use a", title="C", examples=[1])
    d: int = Field(json_schema_extra={"examples": [1, 2]})
    model_config = ConfigDict(json_schema_extra={"examples": [{"a": 1}]}, frozen=True, validate_assignment=True)


class Lambda(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.upper())
    order_id: str
