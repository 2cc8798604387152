"""Where the reader of a command's output finds a page of docs/."""

from __future__ import annotations

from pathlib import Path

import injector

#: What holds docs/: an installation's package, or a checkout.
_ROOTS = Path(injector.__file__).resolve().parents[:2]


def page_to_open(address: str) -> str:
    """The address of a page; in place of `docs/PAGE.md#ANCHOR` the file that came along, from the working directory."""
    page, mark, anchor = address.partition("#")
    file = next((file for root in _ROOTS if (file := root / page).is_file()), None)
    if file is None:  # on the published site, or in the server's image
        return address
    folder = Path.cwd()
    return f"{file.relative_to(folder) if file.is_relative_to(folder) else file}{mark}{anchor}"
