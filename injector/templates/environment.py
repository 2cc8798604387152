"""The sandbox that templates run in: Jinja without everything that is not on a list.

Attributes are keys of mappings, never Python's attributes; methods are the few in `filters`; what may be called are
macros and the functions here; operators check the size of their result before they make it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import cached_property, partial
from inspect import signature
from types import CodeType
from typing import Any, NoReturn

from jinja2 import StrictUndefined, Undefined, UndefinedError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import TemplateModule
from jinja2.idtracking import VAR_LOAD_RESOLVE
from jinja2.runtime import Context as JinjaContext, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from injector.budget import FaultError, LimitError
from injector.errors import DENIED_CODE, InjectionError
from injector.library_messages import undefined_message
from injector.names import did_you_mean, kind_of, nearest, shortened
from injector.reasons import Reason
from injector.templates.expression_errors import explain_python
from injector.templates.filters import FILTERS, TESTS, TEXT_FILTERS
from injector.templates.holes import Text, check_length, concat, current, typed, written
from injector.templates.sandbox_operations import INTERNAL, operand, weigh
from injector.templates.source_map import PlacedLexer
from injector.templates.structure import scalar_text


def never_works(name: str, call: nodes.Call) -> str:
    """What is wrong with the arguments of a call of the function `name`, whatever their values; empty for nothing."""
    keywords = {keyword.key: keyword.value for keyword in call.kwargs}
    try:
        code = signature(FUNCTIONS[name]).bind(*call.args, **keywords).arguments.get("code")
        if isinstance(code, nodes.Const):
            check_code(code.value)
    except FaultError as error:
        return str(error)
    except TypeError as error:
        return f"{name}(): {explain_python(error)}"
    return ""


#: What templates see of `loop`.
LOOP_FIELDS = frozenset(
    (
        "index", "index0", "revindex", "revindex0", "first", "last", "length", "depth0", "depth", "previtem",
        "nextitem", "cycle", "changed",
    )
)  # fmt: skip
_LARGEST = 2**64
_RANGE = 10_000
#: What `deny` may answer with.
_CODES = range(400, 600)


class MissingValueError(UndefinedError):
    """Something was used that is not there: `name` of `owner`; "" if it has no name."""

    def __init__(self, name: str, owner: Any, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.owner = owner


#: By what Jinja means of something that is not there; its words about an import name a line, which is an offset here.
_UNDEFINED = {
    "empty-list": "the list is empty, so there is nothing to take from it; use `| default(...)`",
    "no-argument": "the macro's argument {0} is missing; pass it in the call, or declare it as {0}=none in the macro",
    "not-exported": "{0} defines {1} only in an {{% if %}} that is false here",
}


class MissingValue(StrictUndefined):  # `_undefined_...` are Jinja's documented names for those who subclass
    """Something that is not there: fine to ask about (`is defined`, `| default(...)`), an error to use.

    What would be within it is missing too, so `object.spec.securityContext.runAsUser | default(0)` needs no guards.
    """

    def __init__(self, hint: str | None = None, obj: Any = missing, name: str | None = None, *_: Any) -> None:
        label = "" if hint or obj is missing else str(name)[:60]
        super().__init__(hint, obj, name, partial(MissingValueError, label, obj))  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    @property
    def _undefined_message(self) -> str:
        name, owner = self._undefined_name, self._undefined_obj
        if self._undefined_hint:
            kind, values = undefined_message(self._undefined_hint)
            return _UNDEFINED[kind].format(*values, name) if kind in _UNDEFINED else self._undefined_hint
        if owner is missing:
            return f"`{name}` has no value here; the line that sets it was not reached (see its {{% if %}} or loop)"
        if isinstance(owner, list | tuple):
            return f"there is no [{name}] in this list, whose length is {len(owner)}; use `| default(...)`"
        near = nearest(str(name), [key for key in owner if isinstance(key, str)]) if isinstance(owner, dict) else None
        rest = did_you_mean(near, "use `| default(...)` or `is defined`")
        return f"there is nothing named {str(name)[:60]!r} here; {rest}"


class TemplateVerdictError(InjectionError):
    """A template's own verdict on a pod: `deny()` or `fail()` was called."""


def deny(why: Any, code: Any = DENIED_CODE) -> NoReturn:
    """Refuse the pod, in every namespace; `code` is the HTTP status that whoever creates it gets."""
    code = operand(code)
    check_code(code)
    raise TemplateVerdictError(Reason.DENIED, _sentence(why), code=code)


def check_code(code: Any) -> None:
    """Raises FaultError for what is no code of `deny()`."""
    if type(code) is not int or code not in _CODES:
        raise FaultError(f"deny(): {shortened(code)} is not an HTTP status from {_CODES[0]} to {_CODES[-1]}")


def fail(why: Any) -> NoReturn:
    """Say that this template cannot serve this pod; the table of reasons decides what becomes of it."""
    raise TemplateVerdictError(Reason.NOT_SERVED, _sentence(why))


def warn(what: Any) -> Text:
    """Tell the pod's author something; writes nothing."""
    run = current.get()
    run.charge(50)
    if len(run.warnings) < 20:
        run.warnings.append(_sentence(what))
    return Text("")


def bounded_range(*args: Any) -> range:
    """Jinja's `range`, for lists of up to 10,000 numbers."""
    numbers = range(*args)
    if len(numbers) > _RANGE:
        raise LimitError(f"range() makes at most {_RANGE} numbers")
    return numbers


def template_dict(**items: Any) -> dict[str, Any]:
    """Jinja's `dict`, by keywords only."""
    weigh(items)
    return items


#: What templates may call by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "deny": deny,
    "dict": template_dict,
    "fail": fail,
    "range": bounded_range,
    "warn": warn,
}
_CALLABLE = frozenset(FUNCTIONS.values())


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


class _Generator(CodeGenerator):
    """Makes Python of a tree, and notes the names that it looks up when it runs.

    `jinja2.meta` does the same, but calls filters of constants meanwhile.
    """

    environment: Environment

    def enter_frame(self, frame: Frame) -> None:
        """Begin a scope."""
        super().enter_frame(frame)
        loads = frame.symbols.loads.values()
        self.environment.looked_up.update(name for how, name in loads if how == VAR_LOAD_RESOLVE and name is not None)


class Environment(ImmutableSandboxedEnvironment):
    """Jinja's environment for documents (`document=True`: typed holes) or for text files."""

    intercepted_binops = frozenset(_OPERATORS)
    concat = staticmethod(concat)
    code_generator_class = _Generator

    def __init__(self, *, document: bool) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            undefined=MissingValue,
            autoescape=False,
            optimized=False,
            auto_reload=False,
            finalize=typed if document else written,
        )
        self.document = document
        self.globals = dict(FUNCTIONS)
        self.filters = {**(FILTERS if document else TEXT_FILTERS), **INTERNAL}
        self.tests = dict(TESTS)
        self.looked_up: set[str] = set()

    def compiled(self, tree: nodes.Template, name: str) -> tuple[CodeType, set[str]]:
        """The code of a file's tree, and the names that it looks up and that are no functions.

        Raises what Jinja's `compile` raises.
        """
        self.looked_up = set()
        code = self.compile(tree, name, name)
        return code, self.looked_up - self.globals.keys()

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`."""
        kind = type(obj)
        if kind is dict:
            if attribute in obj:
                return obj[attribute]
        elif isinstance(obj, Undefined):
            return obj
        elif kind is TemplateModule:
            if not attribute.startswith("_") and attribute in vars(obj):
                return vars(obj)[attribute]
        elif kind is LoopContext and attribute in LOOP_FIELDS:
            return getattr(obj, attribute)
        return MissingValue(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`."""
        argument = operand(argument)
        kind = type(obj)
        if kind is dict:
            if isinstance(argument, str | int | float) and argument in obj:
                return obj[argument]
        elif kind in (list, tuple, range, str):
            if type(argument) is int and -len(obj) <= argument < len(obj):
                return obj[argument]
        elif isinstance(obj, str):
            return self.getitem(operand(obj), argument)
        elif isinstance(argument, str):
            return self.getattr(obj, argument)
        elif isinstance(obj, Undefined):
            return obj
        return MissingValue(obj=obj, name=str(argument)[:60])

    def call(self, context: JinjaContext, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`obj(...)`."""
        current.get().charge(15)
        if type(obj) is Macro:
            result = context.call(obj, *args, **kwargs)
            if type(result) is not Text:
                raise FaultError("a macro wrote something other than text")
            return result
        if "caller" in kwargs:
            # a call block writes what it calls without a hole, so that has to be a macro
            raise FaultError("{% call %} needs a macro")
        if (isinstance(obj, type(deny)) and obj in _CALLABLE) or type(getattr(obj, "__self__", None)) is LoopContext:
            for inner in ("_loop_vars", "_block_vars"):  # Jinja's own, added to every call within a loop or a block
                kwargs.pop(inner, None)
            return obj(*args, **kwargs)
        if isinstance(obj, Undefined):
            obj._fail_with_undefined_error()
        raise FaultError(f"{kind_of(obj)} cannot be called; you can call the template's macros, {', '.join(FUNCTIONS)}")

    def call_binop(self, context: JinjaContext, operator: str, left: Any, right: Any) -> Any:
        """`left operator right`, its result bounded."""
        left, right = operand(left), operand(right)
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            check_length(len(left) + len(right))
            return left + right
        if operator == "+" and isinstance(left, list) and isinstance(right, list):
            return weigh(left + right)
        if operator == "*" and isinstance(left, str) and isinstance(right, int):
            check_length(len(left) * max(right, 0))
            return left * right
        function = _OPERATORS.get(operator)
        if function is None or not (_number(left) and _number(right)):
            message = f"{kind_of(left)} {operator} {kind_of(right)} is not possible"
            raise FaultError(f'{message}; join strings with ~, as in {{{{ params.a ~ ":" ~ params.b }}}}')
        result = function(left, right)
        if abs(result) >= _LARGEST:
            raise FaultError("a number does not fit into 64 bits")
        return result

    @cached_property
    def lexer(self) -> PlacedLexer:
        """The lexer: with offsets where Jinja has lines."""
        return PlacedLexer(self)

    def handle_exception(self, source: str | None = None) -> NoReturn:
        """Raise the current error as it is.

        Jinja's own method would make a text with as many line ends as the line's number.
        """
        error = sys.exc_info()[1]
        assert error is not None  # noqa: S101
        raise error


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sentence(value: Any) -> str:
    text = scalar_text(operand(value))
    return "".join(c if c.isprintable() else " " for c in text[:500])
