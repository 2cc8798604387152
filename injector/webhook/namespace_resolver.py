"""Which namespace a review is about, when the local store may lag behind the API server that sent it.

A review comes only if the webhook's selectors match. When the store knows nothing of the namespace, or
says that it asks for no injection, the API server is asked once; what it says holds until the store catches up.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from injector.cluster.namespaces import Namespaces
from injector.cluster.tasks import remember
from injector.errors import ReviewError
from injector.names import is_dns_label
from injector.pods.context import Namespace
from injector.settings import NamespaceLabel

#: Seconds that an answer of the API server holds against a store that says the same as before.
_HOLDS_SECONDS = 10.0
#: Seconds after which it is asked again when it could not be.
_FAILED_SECONDS = 2.0
#: How many answers, and how many namespaces, are remembered.
_REMEMBERED = 1000


class EveryNamespace:
    """For `serve --standalone`: every namespace exists and is labelled `enabled`."""

    def __init__(self, label: NamespaceLabel) -> None:
        self._labels = {label.key: label.enabled}
        self._seen: OrderedDict[str, Namespace] = OrderedDict()

    def get(self, name: str) -> Namespace | None:
        """The namespace of this name, the same object each time while it is remembered; None for what is not a name."""
        namespace = self._seen.get(name)
        if namespace is None and is_dns_label(name):
            namespace = Namespace(name, labels=self._labels)
            remember(self._seen, name, namespace, _REMEMBERED)
        return namespace

    async def fetch(self, name: str) -> Namespace | None:
        """What `get` says: there is nobody to ask."""
        return self.get(name)


class _Answer(NamedTuple):
    """What the store had and the API server answered (None: nothing) when it was asked; and until when this counts.

    `error` is why there was no answer.
    """

    stored: Namespace | None
    fetched: Namespace | None
    until: float
    error: str = ""


class NamespaceResolver:
    """Namespaces for reviews."""

    def __init__(self, namespaces: Namespaces | EveryNamespace) -> None:
        self._namespaces = namespaces
        self._answers: OrderedDict[str, _Answer] = OrderedDict()

    def get(self, name: str) -> Namespace | None:
        """The namespace as far as it is known without asking."""
        stored, answer = self._namespaces.get(name), self._answers.get(name)
        if answer is not None:
            if answer.stored is stored and asyncio.get_running_loop().time() < answer.until:
                return answer.fetched or stored
            del self._answers[name]
        return stored

    def tried(self, name: str) -> bool:
        """Whether the API server was asked about the namespace a moment ago; it may not have answered."""
        return name in self._answers

    def confirmed(self, name: str) -> bool:
        """Whether what `get` says is what the API server said a moment ago."""
        answer = self._answers.get(name)
        return answer is not None and answer.fetched is not None

    async def ask(self, name: str, deadline: float) -> Namespace:
        """The namespace as the API server knows it; without any label when it knows none of that name.

        Raises ReviewError for what cannot be a namespace's name, OSError or TimeoutError when there is no answer by
        `deadline` (of the event loop's clock).
        """
        if not is_dns_label(name):
            raise ReviewError("request.namespace is not the name of a namespace")
        if (known := self._answers.get(name)) is not None and known.error:
            raise OSError(known.error)
        stored = self._namespaces.get(name)
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(deadline):
                fetched = await self._namespaces.fetch(name)
        except TimeoutError:
            if stored is not None:
                remember(self._answers, name, _Answer(stored, None, now + _FAILED_SECONDS), _REMEMBERED)
            raise
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            remember(self._answers, name, _Answer(stored, None, now + _FAILED_SECONDS, cause), _REMEMBERED)
            raise OSError(cause) from error
        namespace = fetched or Namespace(name)
        answer = _Answer(self._namespaces.get(name), namespace, now + _HOLDS_SECONDS)
        remember(self._answers, name, answer, _REMEMBERED)
        return namespace
