"""Models whose types do not say what is on the wire: what the compiler leaves open, with a reason."""

from typing import Annotated, Any, Callable

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema

from tests.contracts.corpus.nested import Line


class Before(BaseModel):
    tags: list[str]
    kept: int

    @field_validator("tags", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value

    @field_validator("kept")
    @classmethod
    def positive(cls, value: int) -> int:
        return abs(value)


class Reshaped(BaseModel):
    a: int

    @model_validator(mode="before")
    @classmethod
    def unpack(cls, data: Any) -> Any:
        return data


class Compared(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def ordered(self) -> "Compared":
        return self


class Written(BaseModel):
    a: int
    b: Annotated[int, PlainSerializer(str)]
    c: Annotated[int, BeforeValidator(int)]
    d: Annotated[int, WithJsonSchema({"type": "string"})]

    @field_serializer("a")
    def as_text(self, value: int) -> str:
        return str(value)


class Celsius:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(float, json_schema_input_schema=core_schema.float_schema())


class Custom(BaseModel):
    temperature: Celsius
    kept: int


class Extra(BaseModel):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    a: int


class ByCode(BaseModel):
    a: int = Field(json_schema_extra={"x-unit": "metre"})
    either: int | str = Field(min_length=0)
    line: Line
