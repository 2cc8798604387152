"""JSON Schemas (draft 2020-12) of the files that people write, for editors: help on every key, and mistakes underlined.

What a loader takes, its schema takes. A schema cannot say everything that a loader refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from injector.authoring.schemas.declaration_schema import Schema
from injector.authoring.schemas.settings_schema import settings_schema
from injector.authoring.schemas.template_schema import case_schema, template_schema

#: The schemas by what they are for.
SCHEMAS: Final[Mapping[str, Callable[[], Schema]]] = {
    "template": template_schema,
    "case": case_schema,
    "settings": settings_schema,
}


def schema_of(kind: str) -> Schema:
    """The schema of template.yaml (`template`), of a case file (`case`) or of a settings file (`settings`)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[kind]()}
