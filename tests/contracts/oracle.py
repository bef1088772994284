"""Is the compiler's schema pydantic's? Compared after one normalisation, which is all in this file.

- What a definition is called does not count: a reference is what it refers to, in both documents.
- Words that say nothing of shape are dropped: titles, descriptions, default values, examples, deprecations.
- A union in a union is one union; one of anything and something else is anything.
- The order of alternatives, of listed values and of required members does not count; `const` lists one value.
- A member of an enumeration under a second name is listed once; that a name of a member is a text goes without saying.
- The pattern that some versions of pydantic put beside a number, in a decimal, is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import VERSION

from flowx_compiler.contracts.published import Published
from flowx_compiler.contracts.shape import OPAQUE
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.read.file_reader import FileReader
from flowx_compiler.syntax import Module

IS_OLDER = tuple(map(int, VERSION.split(".")[:2])) < (2, 13)
"""Older versions of pydantic do not say in a schema what a model's configuration says of texts and of aliases."""
_SILENT = {"title", "description", "default", "examples", "deprecated", "$defs", "sensitive"}


@dataclass
class Comparison:
    """Of one schema of the compiler with one of pydantic's."""

    contracts: dict[str, Any]
    definitions: dict[str, Any]
    opaque: list[str] = field(default_factory=list)
    """The reasons that the compiler gives for what it leaves open."""
    difference: str = ""
    assumed: set[tuple[str, str]] = field(default_factory=set)

    def same(self, path: str, ours: Any, theirs: Any) -> bool:
        """Whether two schemas are one; the first difference is kept."""
        references = (json.dumps(ours), json.dumps(theirs))
        if isinstance(ours, dict) and "$ref" in ours:
            if references in self.assumed:
                return True
            self.assumed.add(references)
            name = unquote(ours["$ref"].removeprefix("#/contracts/"))
            return self.same(path, {**self.contracts[name], **_without(ours, "$ref")}, theirs)
        if isinstance(theirs, dict) and "$ref" in theirs:
            if references in self.assumed:
                return True
            self.assumed.add(references)
            name = theirs["$ref"].removeprefix("#/$defs/")
            return self.same(path, ours, {**self.definitions[name], **_without(theirs, "$ref")})
        ours, theirs = ({} if schema is True else schema for schema in (ours, theirs))
        if not isinstance(ours, dict) or not isinstance(theirs, dict):
            return ours == theirs or self._differ(path, ours, theirs)
        if OPAQUE in ours:
            self.opaque.append(f"{path}: {ours[OPAQUE]}")
            return True
        if path.endswith("/propertyNames"):
            theirs = _without(theirs, "type")
        ours, theirs = _normalised(ours), _normalised(theirs)
        if "$ref" in ours or "$ref" in theirs:
            return self.same(path, ours, theirs)
        return self._members(path, ours, theirs)

    def _members(self, path: str, ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
        if ours.keys() != theirs.keys():
            return self._differ(path, ours, theirs)
        for word, said in ours.items():
            at = f"{path}/{word}"
            if word in ("properties", "patternProperties"):
                if said.keys() != theirs[word].keys():
                    return self._differ(at, sorted(said), sorted(theirs[word]))
                found = all(self.same(f"{at}/{name}", said[name], theirs[word][name]) for name in said)
            elif word in ("anyOf", "oneOf"):
                found = self._alternatives(at, said, theirs[word])
            elif word == "discriminator":
                found = said["propertyName"] == theirs[word]["propertyName"] and all(
                    self.same(
                        f"{at}/{tag}", _schema(said["mapping"].get(tag)), _schema(theirs[word]["mapping"].get(tag))
                    )
                    for tag in said["mapping"].keys() | theirs[word]["mapping"].keys()
                )
            elif word == "prefixItems":
                found = len(said) == len(theirs[word]) and all(
                    self.same(f"{at}/{number}", *pair)
                    for number, pair in enumerate(zip(said, theirs[word], strict=True))
                )
            elif word == "propertyNames":
                found = self.same(at, _without(said, "type"), theirs[word])
            else:
                found = self.same(at, said, theirs[word])
            if not found:
                return self._differ(at, said, theirs[word])
        return True

    def _alternatives(self, path: str, ours: list[Any], theirs: list[Any]) -> bool:
        left = list(theirs)
        for mine in ours:
            for other in left:
                trial = Comparison(self.contracts, self.definitions, assumed=set(self.assumed))
                if trial.same(path, mine, other):
                    self.opaque += trial.opaque
                    self.assumed |= trial.assumed
                    left.remove(other)
                    break
            else:
                return self._differ(path, mine, left)
        return not left or self._differ(path, ours, theirs)

    def _differ(self, path: str, ours: Any, theirs: Any) -> bool:
        self.difference = self.difference or f"{path}:\n  flowx    {json.dumps(ours)}\n  pydantic {json.dumps(theirs)}"
        return False


def _without(schema: dict[str, Any], word: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != word}


def _schema(mapped: Any) -> Any:
    return {"$ref": mapped} if isinstance(mapped, str) else mapped


def _normalised(schema: dict[str, Any]) -> dict[str, Any]:
    found = {word: said for word, said in schema.items() if word not in _SILENT}
    if "const" in found:
        found["enum"] = [found.pop("const")]
    for word in ("enum", "required"):
        if word in found:
            found[word] = [json.loads(text) for text in sorted({json.dumps(value) for value in found[word]})]
    alternatives = found.get("anyOf", [])
    if any(isinstance(item, dict) and not item.keys() - _SILENT for item in alternatives):
        return _without(found, "anyOf")
    flat = [part for item in alternatives for part in (_union_in(item) or [item])]
    distinct = {json.dumps(_normalised(item), sort_keys=True): item for item in flat if isinstance(item, dict)}
    flat = list(distinct.values())
    if len(flat) == 1:
        return _normalised({**_without(found, "anyOf"), **flat[0]})
    if flat != alternatives:
        return _normalised({**found, "anyOf": flat})
    if {item.get("type") for item in alternatives if isinstance(item, dict)} >= {"number", "string"}:
        found["anyOf"] = [
            _without(item, "pattern") if item.get("type") == "string" and "[+-]?0*" in item.get("pattern", "") else item
            for item in alternatives
        ]
    return found


def _union_in(schema: dict[str, Any]) -> list[Any]:
    return schema["anyOf"] if schema.keys() - _SILENT == {"anyOf"} else []


def derived(files: dict[str, str], names: list[str]) -> dict[str, Any]:
    """The contracts of these names, and those inside them, of modules given as text by name."""
    sources = [SourceFile(name, f"{name.replace('.', '/')}.py", text.encode()) for name, text in files.items()]
    return Published.of(link(Sources.of(sources, _READER))).closure(names)


class _Remembering(FileReader):
    """Reads a text once: modules that many tests share are the most of what there is to read."""

    def __init__(self) -> None:
        self.known: dict[bytes, Module] = {}

    def read(self, files: Sequence[SourceFile]) -> Sequence[Module]:
        for file in files:
            if file.source not in self.known:
                (self.known[file.source],) = super().read([file])
        return [self.known[file.source] for file in files]


_READER = _Remembering()


@cache
def corpus() -> dict[str, str]:
    """The modules of the corpus, as text by name."""
    folder = Path(__file__).parent / "corpus"
    return {f"tests.contracts.corpus.{file.stem}": file.read_text("utf-8") for file in sorted(folder.glob("[a-z]*.py"))}
