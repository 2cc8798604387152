"""The server of the workbench's page: who gets an answer, and files that nobody loses."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from injector.authoring.workbench import page_server
from injector.cli.workbench import workbench
from injector.errors import DocumentError
from tests import command
from tests.authoring.workbench.serving import Served, serving

_OVERLAY = "overlay.yaml.j2"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    assert command.run("new", "greeter", "--dir", tmp_path).code == 0
    with serving(tmp_path / "greeter") as bench:
        yield bench


def test_the_files_of_a_template_are_read_with_their_tags(served: Served) -> None:
    answer = served.ask("GET", "/files")
    files = answer.data["files"]
    assert answer.data["folder"] == served.folder.as_uri()
    assert set(files) == {"README.md", "nginx.conf.j2", _OVERLAY, "template.yaml", "tests/first.yaml"}
    assert files[_OVERLAY]["text"].encode() == (served.folder / _OVERLAY).read_bytes()
    assert served.ask("GET", "/files", If_None_Match=answer.headers["etag"]).status == 304
    (served.folder / _OVERLAY).write_text("spec: {}\n")
    assert served.ask("GET", "/files", If_None_Match=answer.headers["etag"]).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer 0123"},
        {"Authorization": "Bearer \xe9"},
        {"Host": "attacker.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "localhost.attacker.example:80"},
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://["},
    ],
    ids=str,
)
@pytest.mark.parametrize("request_line", [("GET", "/files"), ("PUT", f"/files/{_OVERLAY}")], ids=str)
def test_another_page_or_one_without_the_token_gets_nothing(
    served: Served, request_line: tuple[str, str], headers: dict[str, str]
) -> None:
    before = (served.folder / _OVERLAY).read_bytes()
    tag = served.files()[_OVERLAY]["etag"]
    answer = served.ask(*request_line, b"spec: {}\n", **headers, If_Match=tag)
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers
    assert before.decode() not in answer.body.decode()
    assert (served.folder / _OVERLAY).read_bytes() == before


def test_each_answer_forbids_scripts_but_the_pages_own(served: Served) -> None:
    for path in ("/files", "/nowhere", f"/?token={served.token}"):
        policy = served.ask("GET", path).headers["content-security-policy"]
        rules = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == "'self'"
        assert rules["frame-ancestors"] == "'none'"
        assert "unsafe" not in policy


def test_a_file_is_written_over_the_content_that_the_page_knows(served: Served) -> None:
    file = served.folder / _OVERLAY
    file.chmod(0o600)
    tag = served.files()[_OVERLAY]["etag"]
    written = "spec: {}\r\n# ü\n".encode()
    answer = served.ask("PUT", f"/files/{_OVERLAY}", written, If_Match=tag)
    assert answer.status == 204
    assert file.read_bytes() == written
    assert file.stat().st_mode & 0o777 == 0o600
    assert served.files()[_OVERLAY]["etag"] == answer.headers["etag"]
    # somebody else has changed it: nothing is lost
    file.write_text("spec: {hostname: mine}\n")
    assert served.ask("PUT", f"/files/{_OVERLAY}", b"x", If_Match=answer.headers["etag"]).status == 412
    assert file.read_text() == "spec: {hostname: mine}\n"
    assert served.ask("PUT", f"/files/{_OVERLAY}", b"x").status == 428
    assert sorted(path.name for path in served.folder.iterdir() if path.suffix != ".j2") == [
        ".schemas", "README.md", "template.yaml", "tests",
    ]  # fmt: skip


def test_a_new_file_is_made_only_where_there_is_none(served: Served) -> None:
    for name in ("_macros.j2", "tests/second.yaml"):
        assert served.ask("PUT", f"/files/{name}", b"x", If_None_Match="*").status == 204
        assert (served.folder / name).read_bytes() == b"x"
        assert served.ask("PUT", f"/files/{name}", b"y", If_None_Match="*").status == 412
        assert (served.folder / name).read_bytes() == b"x"


@pytest.mark.parametrize(
    "path",
    [
        "../stolen",
        "tests/../../stolen",
        "/etc/stolen",
        "a/b",
        ".hidden",
        "tests/.hidden",
        "tests",
        "tests/",
        "a\0b",
        "a b",
        "ü",
    ],
)
def test_no_path_leads_out_of_the_folder(served: Served, path: str) -> None:
    before = {file: file.read_bytes() for file in served.folder.parent.rglob("*") if file.is_file()}
    assert served.ask("PUT", f"/files/{quote(path, safe='')}", b"x", If_None_Match="*").status == 400
    assert {file: file.read_bytes() for file in served.folder.parent.rglob("*") if file.is_file()} == before


def test_links_that_lead_out_are_neither_read_nor_written(served: Served, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (served.folder / "link.txt").symlink_to(secret)
    (served.folder / "new.txt").symlink_to(tmp_path / "made")
    assert "link.txt" not in served.files()
    for name in ("link.txt", "new.txt"):
        assert served.ask("PUT", f"/files/{name}", b"x", If_None_Match="*").status == 400
    assert secret.read_text() == "mine"
    assert not (tmp_path / "made").exists()
    (served.folder / "tests").rename(tmp_path / "elsewhere")
    (served.folder / "tests").symlink_to(tmp_path / "elsewhere")
    assert not any(path.startswith("tests/") for path in served.files())
    assert served.ask("PUT", "/files/tests/new.yaml", b"x", If_None_Match="*").status == 400


def test_a_link_in_the_way_of_a_save_is_not_followed(served: Served, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (served.folder / f".{_OVERLAY}.{os.getpid()}").symlink_to(victim)
    tag = served.files()[_OVERLAY]["etag"]
    assert served.ask("PUT", f"/files/{_OVERLAY}", b"spec: {}\n", If_Match=tag).status == 500
    assert victim.read_text() == "mine"
    assert served.files()[_OVERLAY]["etag"] == tag


def test_a_link_within_the_folder_stays_one(served: Served) -> None:
    (served.folder / "second.conf.j2").symlink_to("nginx.conf.j2")
    tag = served.files()["second.conf.j2"]["etag"]
    assert served.ask("PUT", "/files/second.conf.j2", b"x", If_Match=tag).status == 204
    assert (served.folder / "second.conf.j2").is_symlink()
    assert (served.folder / "nginx.conf.j2").read_bytes() == b"x"


def test_a_file_is_deleted_only_as_the_page_knows_it(served: Served) -> None:
    tag = served.files()["README.md"]["etag"]
    assert served.ask("DELETE", "/files/README.md", If_Match='"other"').status == 412
    assert served.ask("DELETE", "/files/README.md").status == 428
    assert served.ask("DELETE", "/files/..%2Foutside", If_Match='"other"').status == 400
    assert served.ask("DELETE", "/files/README.md", If_Match=tag).status == 204
    assert not (served.folder / "README.md").exists()


def test_a_folder_that_is_gone_is_no_empty_one(served: Served, tmp_path: Path) -> None:
    served.folder.rename(tmp_path / "elsewhere")
    assert served.ask("GET", "/files").status == 500


def test_what_is_no_text_is_refused(served: Served) -> None:
    tag = served.files()[_OVERLAY]["etag"]
    assert served.ask("PUT", f"/files/{_OVERLAY}", b"\xff", If_Match=tag).status == 400
    assert served.ask("PUT", f"/files/{_OVERLAY}", b"x" * (2 << 20), If_Match=tag).status == 400


async def _talk(served: Served) -> str:
    address = f"ws://{served.host}/language-server?token={served.token}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(address, origin=f"http://{served.host}") as socket,
    ):
        params = {"processId": None, "rootUri": served.folder.as_uri(), "capabilities": {}}
        await socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        return json.loads(await asyncio.wait_for(socket.receive_str(), 60))["result"]["serverInfo"]["name"]


def test_the_language_server_answers_over_the_socket(served: Served) -> None:
    assert asyncio.run(_talk(served)) == "injector"


EXIT = '{"jsonrpc": "2.0", "method": "exit"}'
NO_MESSAGES = ["", "{", "[]", "1", '{"jsonrpc": "2.0"}', '{"jsonrpc": "1", "method": "x"}', "\0"]


@pytest.mark.parametrize("message", [*NO_MESSAGES, EXIT, EXIT.replace("}", ', "id": 1}')])
def test_what_is_no_message_ends_that_page_at_most(served: Served, message: str) -> None:
    async def send() -> None:
        address = f"ws://{served.host}/language-server?token={served.token}"
        own = f"http://{served.host}"
        async with aiohttp.ClientSession() as session, session.ws_connect(address, origin=own) as socket:
            await socket.send_str(message)
            await socket.send_str('{"jsonrpc": "2.0", "id": 1, "method": "nothing"}')
            await asyncio.wait_for(socket.receive(), 30)

    asyncio.run(send())
    assert asyncio.run(_talk(served)) == "injector"


def test_only_so_many_pages_are_open(served: Served) -> None:
    async def open_many() -> list[int | None]:
        address = f"ws://{served.host}/language-server?token={served.token}"
        async with aiohttp.ClientSession() as session:
            sockets = [await session.ws_connect(address, origin=f"http://{served.host}") for _ in range(12)]
            for socket in sockets[8:]:
                await asyncio.wait_for(socket.receive(), 30)
            return [socket.close_code for socket in sockets]

    assert asyncio.run(open_many()) == [None] * 8 + [1013] * 4
    assert asyncio.run(_talk(served)) == "injector"


@pytest.mark.parametrize(
    ("origin", "token"), [("http://attacker.example", None), ("null", None), (None, None), ("", "wrong")]
)
def test_no_other_page_opens_the_socket(served: Served, origin: str | None, token: str | None) -> None:
    async def status() -> int:
        own = f"http://{served.host}" if origin == "" else origin
        address = f"ws://{served.host}/language-server?token={token or served.token}"
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(address, origin=own)
        return refused.value.status

    assert asyncio.run(status()) == 403


def test_an_installation_without_the_page_names_what_builds_it(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "BUILT", tmp_path / "nothing")
    with pytest.raises(DocumentError, match="make workbench"):
        workbench.main([str(served.folder), "--no-open"], standalone_mode=False)


def test_a_folder_without_a_template_is_refused(tmp_path: Path) -> None:
    done = command.run("workbench", tmp_path, "--no-open")
    assert (done.code, done.out) == (1, "")
