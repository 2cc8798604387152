"""The structure of the house: what the contracts in pyproject.toml cannot say, read from the modules' syntax alone."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: One rule, section, constraint or command a file: such modules are many, small and alike.
FAMILIES = ("injector/authoring/lint/rules/", "injector/cli/checks/", "injector/pods/constraints/")
#: Whose functions are called by what they find, which is also the name of a rule.
RULES = FAMILIES[0]
#: What every member of a family has under the same name, and what the command line's modules are mirrors of.
INTERFACES = {"check", "find"}
COMMANDS = "injector/cli/"
LINES, MODULES = 350, 195

#: What a docstring says of code: a name before a parenthesis, a class in backquotes, an error.
SPOKEN = re.compile(r"\b([A-Za-z_]\w+)\(|`(?:[a-z_]\w*\.)*([A-Z]\w*[a-z]\w*)(?:\.\w+)*`|\b([A-Z]\w+Error)\b")
#: Names of other projects and of Kubernetes that docstrings mention and no code does.
OF_OTHERS = {"HTTPServerConnectionDelegate", "PodList", "UnsafeGuessKindToResource"}

Tree = Mapping[str, str]  #: path from the root of the repository -> source text


def house() -> Tree:
    return {str(f.relative_to(ROOT)): f.read_text() for f in sorted((ROOT / "injector").rglob("*.py"))}


def faults(tree: Tree) -> Iterator[str]:
    """What is wrong with the structure, each a line that begins with the rule's name."""
    yield from (f"long: {path}" for path, text in tree.items() if text.count("\n") > LINES)
    if (count := sum(map(is_counted, tree))) > MODULES:
        yield f"many: {count} modules"
    yield from (f"base: {' '.join(paths)}" for paths in doubled({p: [Path(p).name] for p in tree}, faces=True))
    yield from (f"name: {name}" for name in doubled_names(tree))
    yield from (f"cycle: {' '.join(cycle)}" for cycle in cycles(imports(tree)))
    yield from (f"docstring: {path} {name}" for path, name in dead_names(tree))


def is_counted(path: str) -> bool:
    """Whether a module is outside the families and the commands' own modules."""
    return not path.startswith(FAMILIES) and not (path.startswith(COMMANDS) and path.count("/") == 2)


def doubled(names: Mapping[str, list[str]], *, faces: bool = False) -> Iterator[list[str]]:
    """The paths that share a name; a command may have the name of the one thing that it is the mirror of."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path, own in names.items():
        for name in own:
            if not (faces and name in ("__init__.py", "__main__.py")):
                by_name[name].append(path)
    for paths in by_name.values():
        if sum(not path.startswith(COMMANDS) for path in paths) > 1 or sum(p.startswith(COMMANDS) for p in paths) > 1:
            yield paths


def doubled_names(tree: Tree) -> list[str]:
    """Public classes, functions and aliases of types that stand in more than one module."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path, text in tree.items():
        for name, is_function in definitions(ast.parse(text)):
            if is_function and path.startswith(RULES):
                continue
            family = next((prefix for prefix in FAMILIES if path.startswith(prefix)), "")
            owner = family if family and is_function and name in INTERFACES else path
            if owner not in by_name[name]:
                by_name[name].append(owner)
    return [
        f"{name} {' '.join(paths)}" for name, paths in by_name.items() if len(paths) > 1 and not is_mirror(name, paths)
    ]


def is_mirror(name: str, paths: list[str]) -> bool:
    """Whether one of two is the command of that name: `injector lint` calls `lint`."""
    return len(paths) == 2 and f"{COMMANDS}{name}.py" in paths


def definitions(module: ast.Module) -> Iterator[tuple[str, bool]]:
    """Public names of classes, functions and aliases of types at the top of a module, and whether it is a function."""
    for node in module.body:
        names = []
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        is_class_like = isinstance(node, ast.ClassDef)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for name in names:  # `NAME` is a constant, `Name` a type; one letter is a type variable
            is_type = name != name.upper() and name[:1].isupper()
            if not name.startswith("_") and (is_class_like or is_function or is_type):
                yield name, is_function


def imports(tree: Tree) -> dict[str, set[str]]:
    """Which module imports which of the tree's, for type checkers and within functions too."""
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in tree}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        here = module.split(".") if path.endswith("/__init__.py") else module.split(".")[:-1]
        found[module] = set()
        for node in ast.walk(ast.parse(tree[path])):
            targets: list[str] = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                start = ".".join(here[: len(here) - node.level + 1]) + "." if node.level else ""
                base = f"{start}{node.module or ''}".rstrip(".")
                targets = [f"{base}.{alias.name}" for alias in node.names]
            for target in targets:
                while target and target not in modules:
                    target = target.rpartition(".")[0]
                found[module] |= {target} - {module, ""}
    return found


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach one another: what is left when modules without imports, or importers, are taken.

    Sets that lead to one another come out as one.
    """
    left = {module: set(others) for module, others in graph.items()}
    while True:
        imported = set().union(*left.values()) if left else set()
        ends = {module for module, others in left.items() if not others or module not in imported}
        if not ends:
            return [sorted(left)] if left else []
        left = {module: others - ends for module, others in left.items() if module not in ends}


def dead_names(tree: Tree) -> list[tuple[str, str]]:
    """The functions and classes that docstrings name and that no code has, each with its module."""
    spoken: list[tuple[str, str]] = []
    alive = OF_OTHERS | set(dir(builtins))
    for path, text in tree.items():
        module = ast.parse(text)
        docstrings = set()
        for node in ast.walk(module):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                alive |= {node.name} if not isinstance(node, ast.Module) else set()
                if docstring := ast.get_docstring(node):
                    docstrings.add(node.body[0].value)  # type: ignore[attr-defined]
                    spoken += [(path, next(filter(None, names))) for names in SPOKEN.findall(docstring)]
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute) and (not node.attr[:1].isupper() or node.attr.endswith("Error")):
                alive.add(node.attr)
            elif isinstance(node, ast.Name | ast.alias | ast.arg):
                alive |= set(re.findall(r"\w+", next(str(value) for _, value in ast.iter_fields(node))))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                alive |= set(re.findall(r"\w+", node.value))
    return [(path, name) for path, name in spoken if name not in alive]


def test_the_house() -> None:
    assert list(faults(house())) == []


def test_the_house_is_seen() -> None:
    tree = house()
    assert len(tree) > 250 and sum(map(is_counted, tree)) > 100
    graph = imports(tree)
    assert {"injector.pods.merge", "injector.templates.snapshot"} <= graph.keys()
    assert "injector.inject" in graph["injector.cli.manifest_injector"]


A, B = "injector/pods/a.py", "injector/webhook/b.py"


@pytest.mark.parametrize(
    ("rule", "tree"),
    [
        ("long", {A: "x = 1\n" * 351}),
        ("many", {f"injector/pods/m{n}.py": "" for n in range(MODULES + 1)}),
        ("base", {A: "", "injector/webhook/a.py": ""}),
        ("base", {"injector/cli/a.py": "", "injector/cli/checks/a.py": ""}),
        ("name", {A: "class Found: ...\n", B: "class Found: ...\n"}),
        ("name", {A: "class Found: ...\n", B: "Found = dict[str, int]\n"}),
        ("name", {A: "Found: TypeAlias = int\n", B: "Found = TypeVar('Found')\n"}),
        ("name", {A: "def find(): ...\n", B: "async def find(): ...\n"}),
        ("name", {A: "def find(): ...\n", "injector/pods/constraints/c.py": "def find(): ...\n"}),
        ("name", {f"injector/pods/constraints/{c}.py": "def seek(): ...\n" for c in "ab"}),
        ("name", {A: "def lint(): ...\n", B: "def lint(): ...\n", "injector/cli/lint.py": "def lint(): ...\n"}),
        ("cycle", {A: "import injector.webhook.b\n", B: "from injector.pods import a\n"}),
        ("cycle", {A: "def f():\n    from injector.webhook.b import B\n", B: "from injector.pods.a import f\n"}),
        ("cycle", {A: "if TYPE_CHECKING:\n    from injector.webhook.b import B\n", B: "from ..pods.a import f\n"}),
        ("cycle", {A: "from injector import c", "injector/c.py": "from .webhook import b", B: "from ..pods import a"}),
        ("cycle", {"injector/pods/__init__.py": "from . import a\n", A: "from injector.pods import THING\n"}),
        ("docstring", {A: "class GoneLater: ...\n", B: "def f():\n    'What `Gone` was.'\n"}),
        ("docstring", {A: "'Call `b.gone(1)` first.'\n", B: "def found(): ...\n"}),
        ("docstring", {A: "def f():\n    'Raises GoneError.'\n"}),
        ("docstring", {A: "'run(Settings(1))'\ndef run(): ...\n", B: "x = re2.Settings\n"}),
    ],
)  # fmt: skip
def test_what_breaks_it_is_found(rule: str, tree: Tree) -> None:
    assert {fault.partition(":")[0] for fault in faults(tree)} == {rule}


@pytest.mark.parametrize(
    "tree",
    [
        {A: "x = 1\n" * 350},
        {f"injector/pods/m{n}.py": "" for n in range(MODULES)} | {"injector/cli/n.py": ""},
        {f"injector/authoring/lint/rules/r{n}.py": "def check(): ...\n" for n in range(MODULES + 1)},
        {"injector/cli/a.py": "", A: ""},
        {"injector/cli/lint.py": "def lint(): ...\n", A: "def lint(): ...\n"},
        {"injector/pods/__init__.py": "", "injector/webhook/__init__.py": ""},
        {A: "LIMIT = 1\n_Found = int\n", B: "LIMIT = 2\n_Found = str\n"},
        {A: "import injector.webhook.b\nimport ast\n", B: "from collections import abc\n"},
        {A: "'Gone, `gone`, `Found.field` of `find(1)`.'\nclass Found: ...\n", B: "def find():\n    'Not KeyError.'\n"},
    ],
)  # fmt: skip
def test_what_is_allowed(tree: Tree) -> None:
    assert list(faults(tree)) == []
