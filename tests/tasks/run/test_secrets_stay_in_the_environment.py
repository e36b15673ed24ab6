"""Keys and tokens come from the environment and reach their server, and no file of the lake, no message and no log."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from flows.cli.app import app
from tasks.errors import ConfigurationError
from tasks.fetch.secrets import with_secrets
from tasks.run.configuration import load_configuration
from tests.engine import run_engine
from tests.tasks.embedding.server import Server
from tests.tasks.erase.marked_corpus import places_of
from tests.tasks.fetch.web_server import Reply, Site, serving

KEY, TOKEN = "sk-qzkeykeykey", "qz/token+&token"
ENCODED = "qz%2Ftoken%2B%26token"
SECRETS = (KEY, TOKEN, ENCODED, "qzpassword")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def configured(folder: Path, urls: list[str], server: Server | None = None, **source: object) -> Path:
    embed = {} if server is None else {
        "model": "endpoint",
        "endpoint": {"url": server.url, "model": "m", "dimension": 3, "api_key_env": "QZ_KEY", "attempts": 1},
    }  # fmt: skip
    settings = {
        "lake": "lake",
        "sources": [{"name": "web", "type": "http", "urls": urls, **source}],
        "stages": {"fetch": {"allow_private_addresses": True, "robots": "ignore", "retries": 0}, "embed": embed},
    }
    path = folder / "corpusgate.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def test_a_key_and_a_token_are_used_and_written_nowhere(
    tmp_path: Path, site: Site, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("QZ_KEY", KEY)
    monkeypatch.setenv("QZ_TOKEN", TOKEN)
    page = Reply(body=b"# Weir\n\nThe gate opens at three metres.\n", headers={"Content-Type": "text/markdown"})
    site.on(f"/weir.md?token={ENCODED}", page)
    moved = Reply(status=302, headers={"Location": f"/gone.md?signature={ENCODED}"})
    site.on(f"/moved.md?token={ENCODED}", moved)
    site.on(f"/broken.md?token={ENCODED}", Reply(status=500))
    urls = [f"{site.url}/{name}.md?token=${{QZ_TOKEN}}" for name in ("weir", "moved", "broken")]
    config = configured(tmp_path, urls, server)
    with caplog.at_level("DEBUG"):
        run = run_engine(config)
    assert f"Bearer {KEY}" in server.keys
    assert len(site.requests[f"/weir.md?token={ENCODED}"]) == 1
    assert [stages[max(stages)]["outcome"] for stages in run.locations.values()].count("quarantined") == 2
    said = [caplog.text]
    for command in (["status"], ["report"], ["sql", "SELECT * FROM documents"], ["sql", "quarantine", "-f", "json"]):
        said.append(CliRunner().invoke(app, [*command, "--config", str(config)], catch_exceptions=False).output)
    assert not [secret for secret in SECRETS for text in said if secret in text]
    assert places_of(tmp_path / "lake", SECRETS) == set()
    assert "QZ_TOKEN" in said[3]


def test_an_endpoint_that_sends_the_key_back_does_not_get_it_told(
    tmp_path: Path, site: Site, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QZ_KEY", KEY)
    site.on("/a.md", Reply(body=b"# A\n\nThe gate opens.\n", headers={"Content-Type": "text/markdown"}))
    server.script = [lambda _: (401, {}, json.dumps({"error": f"wrong key {KEY}"}).encode())] * 9
    with pytest.raises(ConfigurationError) as caught:
        run_engine(configured(tmp_path, [f"{site.url}/a.md"], server))
    assert KEY not in f"{caught.value} {caught.value.remedy}"
    assert places_of(tmp_path / "lake", SECRETS) == set()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/a?token=qzpassword", "http://127.0.0.1:9/a?page=1&X-Amz-Signature=qzpassword"]
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigurationError, match="secret in its query") as caught:
        run_engine(configured(tmp_path, [url]))
    assert "qzpassword" not in f"{caught.value} {caught.value.remedy}"
    assert "${API_TOKEN}" in caught.value.remedy
    assert places_of(tmp_path / "lake", SECRETS) == set()


def test_a_variable_that_is_not_set_stops_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QZ_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="QZ_TOKEN, which is not set"):
        run_engine(configured(tmp_path, ["http://127.0.0.1:9/a?token=${QZ_TOKEN}"]))


def test_a_sitemap_and_a_redirect_cannot_name_a_variable(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QZ_TOKEN", TOKEN)
    head = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    locations = [f"{site.url}/{path}" for path in ("a?x=${QZ_TOKEN}", "b?x=%24%7BQZ_TOKEN%7D", "c?token=abc", "d")]
    body = b"".join(f"<url><loc>{loc}</loc></url>".encode() for loc in locations)
    site.on("/map.xml", Reply(body=head + body + b"</urlset>"))
    site.on("/d", Reply(status=302, headers={"Location": "/e?x=${QZ_TOKEN}"}))
    run = run_engine(configured(tmp_path, [], sitemaps=[f"{site.url}/map.xml"]), measured=False)
    assert run.locations.keys() == {f"{site.url}/d"}
    assert run.session.runs.manifest(run.session.context.run_id)["skipped"] == {
        "web": {"a secret in its query": 1, "no web address in a sitemap": 2}
    }
    assert not [path for path in site.requests if ENCODED in path or TOKEN in path]
    assert len(site.requests) == 3


def test_a_wrong_configuration_does_not_repeat_a_url(tmp_path: Path) -> None:
    path = configured(tmp_path, ["http://example.org/a"])
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["sources"] = [{"name": "s", "type": "fsspec", "url": "s3://me:qzpassword@bucket"}]
    endpoint = {"url": "http://me:qzpassword@host/v1", "model": "m", "dimension": 3}
    settings["stages"]["embed"] = {"model": "endpoint", "endpoint": endpoint}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="carries a password") as caught:
        load_configuration(path)
    assert "qzpassword" not in f"{caught.value} {caught.value.remedy}"


def test_the_value_is_quoted_as_one_part_of_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QZ_TOKEN", TOKEN)
    assert with_secrets("http://h/a?token=${QZ_TOKEN}&b=1") == f"http://h/a?token={ENCODED}&b=1"
