"""Author's expressions as the formatter would write them.

Most of what authors write as data is simple enough that its one formatted shape is known here. Where it is not, the
answer says so, and the plan module keeps the formatter away from that part.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

from flowx_compiler.emit.layout import WIDTH, Bracketed, Item, Piece, lay_out
from flowx_compiler.lower.tokens import Token, tokens

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPERAND_WORDS = frozenset({"None", "True", "False"})
_PLAIN_NUMBER = re.compile(r"\d[\d_]*(\.\d[\d_]*)?")
_PLAIN_STRING = re.compile(r"(?P<prefix>b?)(?P<quote>['\"])(?P<body>[^'\"\\\n]*)(?P=quote)")
_NEEDED_QUOTES = re.compile(r"""b?(?:"[^"\\\n]*"|'(?=[^'\n]*")[^'\\\n]*')""")
_PLAIN_FIELDS = re.compile(
    r"f(?P<quote>['\"])(?P<body>(?:[^'\"\\\n{}]|\{[\w.]+(?:\(\))?(?:![rsa])?(?::[^'\"\\{}\n]*)?\})*)(?P=quote)"
)


@dataclass(frozen=True, slots=True)
class Written:
    """An expression as the plan module writes it."""

    piece: Piece
    is_settled: bool
    """Whether the formatter would leave it as it is, if its lines fit."""


def written(text: str) -> Written:
    """An expression in the formatter's spacing; comments and the author's line breaks are gone."""
    expression = _read(text, (":=", "for", ","))
    return Written(expression.piece(0, len(expression.tokens)), expression.is_settled)


def returned(text: str) -> tuple[str, bool]:
    """A `return` statement, indented once, and whether the formatter would leave it as it is."""
    expression = _read(text, (":=", "for"))
    end = len(expression.tokens)
    whole = expression.flat(0, end)
    line = f"    return {whole}"
    if len(line) <= WIDTH and "\n" not in line:
        return line, expression.is_settled
    chain = expression.boolean_chain()
    if chain is not None:
        # Nothing keeps these lines apart where a project's own line length lets them be one.
        return "\n".join(["    return (", *(f"        {part}" for part in chain), "    )"]), False
    statement = "    " + lay_out("return ", expression.piece(0, end), indent=4)
    return statement, expression.is_settled and fits(statement)


def fits(text: str) -> bool:
    """Whether no line is longer than the formatter allows."""
    return all(len(line) <= WIDTH for line in text.split("\n"))


def _read(text: str, unbracketed: tuple[str, ...]) -> _Expression:
    """Read an expression; its own brackets are not part of its text, and some kinds need them wherever they stand."""
    expression = _Expression(list(tokens(text)))
    end = len(expression.tokens)
    if not end or any(token.text in unbracketed for _, token in expression.top(0, end)):
        return _Expression(list(tokens(f"({text}\n)")))
    return expression


class _Expression:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.is_settled = True
        self._partner = self._partners()
        self._colons = self._slice_colons()
        self._texts = [self._text(number, token) for number, token in enumerate(found)]
        self._look_for_what_is_not_settled()

    def piece(self, start: int, end: int) -> Piece:
        """The tokens of a range; a call or display that may be broken over lines as such."""
        opening = self._last_bracket(start, end)
        if opening is None:
            return self.flat(start, end)
        items = self._items(opening + 1, end - 1)
        if not items:
            return self.flat(start, end)
        head = self.flat(start, opening)
        return Bracketed(head, tuple(self._item(*item) for item in items), self.tokens[opening].text)

    def flat(self, start: int, end: int) -> str:
        """The tokens of a range on one line."""
        text = ""
        for number in range(start, end):
            if self._is_superfluous_comma(number):
                continue
            gap = self._gap(number - 1, number) if text else ""
            text += gap + self._texts[number]
        return text

    def boolean_chain(self) -> list[str] | None:
        """The operands of every `and` and `or` at the top, one a line, each but the first after its operator."""
        words = [
            (number, token.text)
            for number, token in self.top(0, len(self.tokens))
            if token.text in ("and", "or", "if", "lambda", ":=", ",")
        ]
        cuts = [number for number, word in words if word in ("and", "or")]
        if not cuts or len(cuts) < len(words):
            return None
        bounds = [0, *cuts, len(self.tokens)]
        return [self.flat(bounds[part], bounds[part + 1]) for part in range(len(bounds) - 1)]

    def _last_bracket(self, start: int, end: int) -> int | None:
        """Where the bracket opens that the range ends with, if only a dotted name stands before it."""
        opening = self._partner.get(end - 1)
        if opening is None or opening < start:
            return None
        before = self.tokens[start:opening]
        is_path = all(token.kind == "name" or token.text == "." for token in before)
        if not is_path or any(keyword.iskeyword(token.text) for token in before):
            return None
        is_call = bool(before)
        if self.tokens[opening].text == "{" or (is_call and self.tokens[opening].text == "["):
            return None
        inside = [token.text for _, token in self.top(opening + 1, end - 1)]
        is_tuple = is_call or self.tokens[opening].text == "[" or "," in inside
        return opening if is_tuple and "for" not in inside else None

    def _items(self, start: int, end: int) -> list[tuple[int, int]]:
        bounds: list[tuple[int, int]] = []
        first = start
        in_lambda = 0
        for number, token in self.top(start, end):
            if token.text == "lambda":
                in_lambda += 1
            elif token.text == ":" and in_lambda:
                in_lambda -= 1
            elif token.text == "," and not in_lambda:
                bounds.append((first, number))
                first = number + 1
        return bounds if first == end else [*bounds, (first, end)]

    def _item(self, start: int, end: int) -> Item:
        is_keyword = end - start > 2 and self.tokens[start + 1].text == "=" and self.tokens[start].kind == "name"
        if is_keyword:
            return Item(self.tokens[start].text, self.piece(start + 2, end))
        return Item("", self.piece(start, end))

    def top(self, start: int, end: int) -> Sequence[tuple[int, Token]]:
        """The tokens of a range that stand in none of its brackets."""
        found: list[tuple[int, Token]] = []
        number = start
        while number < end:
            found.append((number, self.tokens[number]))
            partner = self._partner.get(number)
            number = partner + 1 if partner is not None and partner > number else number + 1
        return found

    def _partners(self) -> dict[int, int]:
        found: dict[int, int] = {}
        open_: list[int] = []
        for number, token in enumerate(self.tokens):
            if token.kind != "operator":
                continue
            if token.text in _CLOSING:
                open_.append(number)
            elif token.text in _CLOSING.values():
                found[number] = open_.pop()
                found[found[number]] = number
        return found

    def _slice_colons(self) -> frozenset[int]:
        found: set[int] = set()
        waiting: list[str] = []
        for number, token in enumerate(self.tokens):
            if token.text == "lambda" or (token.kind == "operator" and token.text in _CLOSING):
                is_subscript = token.text == "[" and self._ends_operand(number - 1)
                waiting.append("slice" if is_subscript else token.text)
            elif token.kind == "operator" and token.text in _CLOSING.values():
                waiting.pop()
            elif token.text == ":" and waiting:
                if waiting[-1] == "lambda":
                    waiting.pop()
                elif waiting[-1] == "slice":
                    found.add(number)
        return frozenset(found)

    def _ends_operand(self, number: int) -> bool:
        if number < 0:
            return False
        token = self.tokens[number]
        if token.kind == "name":
            return not keyword.iskeyword(token.text) or token.text in _OPERAND_WORDS
        return token.kind in ("number", "string") or token.text in (")", "]", "}", "...")

    def _is_prefix(self, number: int) -> bool:
        """Whether an operator stands before its only operand: a sign or a star."""
        return self.tokens[number].text in ("+", "-", "~", "*", "**") and not self._ends_operand(number - 1)

    def _is_superfluous_comma(self, number: int) -> bool:
        if self.tokens[number].text != "," or number + 1 >= len(self.tokens):
            return False
        opening = self._partner.get(number + 1)
        if opening is None or opening > number:
            return False
        commas = sum(token.text == "," for _, token in self.top(opening + 1, number + 1))
        is_operand = self._ends_operand(opening - 1)
        bracket = self.tokens[opening].text
        makes_tuple = (bracket == "(" and not is_operand) or (bracket == "[" and is_operand)
        return not (makes_tuple and commas == 1)

    def _gap(self, before: int, after: int) -> str:
        if self._is_superfluous_comma(before):
            before -= 1
        left, right = self.tokens[before], self.tokens[after]
        closes = right.kind == "operator" and right.text in (")", "]", "}", ",")
        opens = left.kind == "operator" and left.text in _CLOSING
        if closes or opens or "=" in (left.text, right.text) or right.text == ":" or self._is_prefix(before):
            return ""
        if "." in (left.text, right.text):
            return " " if left.kind == "number" else ""
        if before in self._colons:
            return ""
        if right.text in ("(", "[") and self._ends_operand(before):
            return ""
        return " "

    def _text(self, number: int, token: Token) -> str:
        if token.kind != "string":
            return token.text
        plain = _PLAIN_STRING.fullmatch(token.text)
        if plain is not None:
            return f'{plain["prefix"]}"{plain["body"]}"'
        fields = _PLAIN_FIELDS.fullmatch(token.text)
        if fields is not None:
            return f'f"{fields["body"]}"'
        self.is_settled = self.is_settled and _NEEDED_QUOTES.fullmatch(token.text) is not None
        return token.text

    def _look_for_what_is_not_settled(self) -> None:
        has_loops = any(token.text == "for" for token in self.tokens)
        # Each of these has a shape that depends on more than is looked at here.
        for number, token in enumerate(self.tokens):
            before = self.tokens[number - 1] if number else None
            if token.kind == "number" and not _PLAIN_NUMBER.fullmatch(token.text):
                self.is_settled = False
            if before is None:
                continue
            if token.kind == "string" and before.kind == "string":
                self.is_settled = False
            if token.text == "**" and not self._is_prefix(number):
                self.is_settled = False
            if token.text == "." and before.kind == "number":
                self.is_settled = False
            if token.text == "(" and before.text == "in" and (has_loops or not self._is_tuple(number)):
                self.is_settled = False
            if token.text == "(" and before.text in ("for", "if", "await", "lambda", ":="):
                self.is_settled = False
            if token.text == "(" and before.text == "(" and self._is_doubled(number):
                self.is_settled = False
            if number in self._colons and not self._is_plain_slice(number):
                self.is_settled = False

    def _is_tuple(self, opening: int) -> bool:
        return any(token.text == "," for _, token in self.top(opening + 1, self._partner[opening]))

    def _is_doubled(self, inner: int) -> bool:
        return self._partner[inner - 1] == self._partner[inner] + 1

    def _is_plain_slice(self, colon: int) -> bool:
        opening = max(number for number, partner in self._partner.items() if number < colon < partner)
        inside = range(opening + 1, self._partner[opening])
        return all(
            self.tokens[number].text == ":" or self.tokens[number].kind in ("name", "number") or self._is_prefix(number)
            for number in inside
        )
