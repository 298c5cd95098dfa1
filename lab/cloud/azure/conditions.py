"""Conditions of role assignments, as far as the program and its pages write them (learn.microsoft.com, "Azure role
assignment condition format and syntax", "Actions and attributes for Azure role assignment conditions for Azure Blob
Storage", "Authorization actions and attributes").

The grammar; all other forms are refused::

    expression  = term { "AND" term } | term { "OR" term }      parentheses order a mixture of both
    term        = ( "!" | "NOT" ) term | "(" expression ")" | match | comparison
    match       = ( "ActionMatches" | "SubOperationMatches" ) "{" text "}"
    comparison  = attribute ( "StringLike" | "StringStartsWith" ) text
                | attribute ( "ForAnyOfAnyValues:GuidEquals" | "ForAnyOfAllValues:GuidNotEquals" ) guids
                | attribute "ForAnyOfAnyValues:StringEqualsIgnoreCase" "{" text { "," text } "}"
    guids       = "{" guid { "," guid } "}"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from contract.azure import BLOBS

PATH, PREFIX = f"@Resource[{BLOBS}:path]", f"@Request[{BLOBS}:prefix]"
REQUESTED_ROLE, PRESENT_ROLE = (
    f"@{part}[Microsoft.Authorization/roleAssignments:RoleDefinitionId]" for part in ("Request", "Resource")
)
REQUESTED_PRINCIPAL, REQUESTED_TYPE = (
    f"@Request[Microsoft.Authorization/roleAssignments:{name}]" for name in ("PrincipalId", "PrincipalType")
)
SETS = (
    "ForAnyOfAnyValues:GuidEquals",
    "ForAnyOfAllValues:GuidNotEquals",
    "ForAnyOfAnyValues:StringEqualsIgnoreCase",
)
"""Operators that compare an attribute with a set. The attributes have one value each, so "any" and "all" of the first
set are the same."""
LIST = "Blob.List"
"""Suboperation of reading that lists blobs."""

_TOKEN = re.compile(r"\s*(?:(?P<text>'[^']*')|(?P<attribute>@\w+\[[^\]]*\])|(?P<word>[\w:-]+)|(?P<sign>[(){}!,]))")


class ConditionError(ValueError):
    """Raised when a condition does not follow the grammar."""


class _AbsentError(Exception):
    """Raised when a condition reads an attribute that the operation does not have."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A data action on blobs or a change of a role assignment, with its attributes."""

    action: str
    suboperation: str = ""
    path: str | None = None
    """Name of the blob; None when the operation does not concern one blob."""
    prefix: str | None = None
    """Prefix of the names that are listed; None when nothing is listed."""
    requested_role: str | None = None
    """GUID of the role that is to be assigned; None when none is."""
    present_role: str | None = None
    """GUID of the role of an existing assignment; None when the operation concerns none."""
    requested_principal: str | None = None
    """Object id of the principal to which a role is to be assigned."""
    requested_type: str | None = None
    """Type of that principal: ``User``, ``Group`` or ``ServicePrincipal``."""

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute; None when the operation does not have it."""
        return {
            PATH: self.path,
            PREFIX: self.prefix,
            REQUESTED_ROLE: self.requested_role,
            PRESENT_ROLE: self.present_role,
            REQUESTED_PRINCIPAL: self.requested_principal,
            REQUESTED_TYPE: self.requested_type,
        }[name]


ATTRIBUTES = (PATH, PREFIX, REQUESTED_ROLE, PRESENT_ROLE, REQUESTED_PRINCIPAL, REQUESTED_TYPE)


Condition = Callable[[Operation], bool]


def parse(text: str) -> Condition:
    """Return the condition; raise ``ConditionError`` when the lab does not evaluate its form. A condition is false when
    the operation lacks the attribute that the condition compares: "all operations that don't accept" the attribute
    "cannot evaluate this condition, and will fail the authorization access check" (the second page, Suboperations)."""
    expression = _Parser(text).whole()

    def condition(operation: Operation) -> bool:
        try:
            return expression(operation)
        except _AbsentError:
            return False

    return condition


class _Parser:
    """Reads a condition from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at, text = 0, text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ConditionError(f"{text[at : at + 20]!r} begins nothing that is known")
            self._tokens.append(match[0].strip())
            at = match.end()

    def whole(self) -> Condition:
        """Read the whole condition."""
        expression = self._expression()
        if self._tokens:
            self._refuse("the end")
        return expression

    def _expression(self) -> Condition:
        terms, word = [self._term()], self._next()
        while word in ("AND", "OR") and self._next() == word:
            self._take(word)
            terms.append(self._term())
        if self._next() in ("AND", "OR"):
            self._refuse("parentheses around what is joined by AND and OR")
        joined = any if word == "OR" else all
        return lambda operation: joined(term(operation) for term in terms)

    def _term(self) -> Condition:
        first = self._take()
        if first in ("!", "NOT"):
            inner = self._term()
            return lambda operation: not inner(operation)
        if first == "(":
            expression = self._expression()
            self._take(")")
            return expression
        if first == "ActionMatches":
            action = self._braced().lower()
            return lambda operation: operation.action.lower() == action
        if first == "SubOperationMatches":
            suboperation = self._braced()
            return lambda operation: operation.suboperation == suboperation
        if first not in ATTRIBUTES:
            raise ConditionError(f"{first} begins no term")
        return self._comparison(first)

    def _comparison(self, attribute: str) -> Condition:
        operator = self._take()
        if operator in SETS:
            values = frozenset(value.strip("'").lower() for value in self._set())
            differs = operator == "ForAnyOfAllValues:GuidNotEquals"
            return lambda operation: (_present(operation, attribute).lower() in values) is not differs
        pattern = {"StringLike": _like, "StringStartsWith": _starts_with}.get(operator)
        if pattern is None:
            raise ConditionError(f"the operator {operator} is not known")
        compared = pattern(self._text())

        return lambda operation: compared.fullmatch(_present(operation, attribute)) is not None

    def _set(self) -> list[str]:
        self._take("{")
        values = [self._take()]
        while self._next() == ",":
            self._take(",")
            values.append(self._take())
        self._take("}")
        return values

    def _braced(self) -> str:
        self._take("{")
        text = self._text()
        self._take("}")
        if not text or "*" in text:
            raise ConditionError(f"{text!r}: patterns of actions are not known")
        return text

    def _text(self) -> str:
        first = self._take()
        if not first.startswith("'"):
            raise ConditionError(f"{first} is in the place of a text in quotes")
        return first[1:-1]

    def _next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self, wanted: str = "") -> str:
        if not self._tokens or (wanted and self._tokens[0] != wanted):
            self._refuse(wanted or "more")
        return self._tokens.pop(0)

    def _refuse(self, wanted: str) -> NoReturn:
        raise ConditionError(f"{wanted} is wanted before {' '.join(self._tokens[:3]) or 'the end'}")


def _present(operation: Operation, attribute: str) -> str:
    value = operation.attribute(attribute)
    if value is None:
        raise _AbsentError
    return value


def _like(text: str) -> re.Pattern[str]:
    """Return the pattern of ``StringLike``: ``*`` stands for any characters, ``?`` for one (the first page)."""
    if "\\" in text:
        raise ConditionError(f"{text!r}: escapes are not known")
    return re.compile(
        "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in text), re.DOTALL
    )


def _starts_with(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text) + ".*", re.DOTALL)
