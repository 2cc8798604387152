"""Calls of the functions that templates have: one that can never work is told before anything is rendered.

A policy whose `deny()` stands where no sample pod comes by would else fail with the first pod that it is about.
"""

from __future__ import annotations

from inspect import signature

from jinja2 import nodes

from injector.templates import python_words
from injector.templates.environment import FUNCTIONS, check_code
from injector.templates.faults import FaultError


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
        return f"{name}(): {python_words.explained(error)}"
    return ""
