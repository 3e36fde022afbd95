"""The scripts that the action and the release consist of, called by hand."""

import json
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_tools import a_program

CI = Path(__file__).parents[3] / "ci"

STOWAGE = """\
printf '%s|' "$@" >>"$CALLS"; echo >>"$CALLS"
case "$1" in
  scenario) echo "my scenario has the label ${LABEL:-none}" ;;
  run)
    echo "::not a command"
    printf 'stowage: no good\\033[31m <b>\\n' >&2
    [ "$CODE" = 2 ] || { mkdir -p "$3/run-1"; echo '{}' >"$3/run-1/run.json"; }
    [ "$CODE" = 2 ] || echo '# told' >>"$GITHUB_STEP_SUMMARY"
    exit "$CODE" ;;
  compare) exit "$CODE" ;;
  report) exit 2 ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a script."""

    code: int
    said: str
    errors: str


def call(script: Path, *arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Done:
    done = subprocess.run(
        [script, *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A repository that uses the action, and an installed `stowage` that plays one."""

    folder: Path
    action: Path

    def call(self, *arguments: str, code: int = 0, label: str = "none") -> Done:
        env = {
            "GITHUB_ACTIONS": "true",
            "CALLS": str(self.folder / "calls"),
            "CODE": str(code),
            "LABEL": label,
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
        }
        return call(self.action, *arguments, cwd=self.folder, env=env)

    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def summary(self) -> str:
        return (self.folder / "summary").read_text()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    checkout, folder = tmp_path / "action checkout", tmp_path / "work space"
    folder.mkdir()
    (checkout / "ci").mkdir(parents=True)
    action = Path(shutil.copy2(CI / "action", checkout / "ci"))
    a_program(checkout / ".venv" / "bin" / "stowage", STOWAGE)
    return Workspace(folder, action)


@pytest.mark.parametrize(("code", "passed"), [(0, "true"), (1, "false")])
def test_a_run_is_reported_by_its_outputs(workspace: Workspace, code: int, passed: str) -> None:
    """A later step goes on with the bundle, or uploads that of the failure."""
    assert workspace.call("paper/figure-1", code=code).code == code

    found = workspace.outputs()
    assert found["passed"] == passed
    assert (workspace.folder / found["results"] / "run.json").is_file()
    assert found["artifact"].startswith("stowage-")
    assert workspace.summary() == "# told\n"


def test_a_run_without_outcome_shows_what_was_said(workspace: Workspace) -> None:
    """Whoever reads the summary does not read the log; and it is shown, not obeyed."""
    done = workspace.call("paper/absent", code=2)

    assert done.code == 2
    assert "# Stowage: no outcome" in workspace.summary()
    assert "    stowage: no good[31m <b>\n" in workspace.summary()
    assert workspace.outputs()["passed"] == "false"


def test_what_a_scenario_says_is_no_command_of_the_runner(workspace: Workspace) -> None:
    """Messages hold names of whoever wrote the scenario, at the start of a line too."""
    lines = workspace.call("paper/figure-1").said.splitlines()

    _, token = lines[0].split("::stop-commands::")
    assert len(token) == 32
    assert 0 < lines.index("::not a command") < lines.index(f"::{token}::")


def test_an_input_is_one_word_and_no_option(workspace: Workspace) -> None:
    """It may be the title of a stranger's pull request."""
    scenario = "--cluster $(touch x); `touch x` b*"
    workspace.call(scenario)

    assert workspace.calls()[-1].endswith(f"|--|{scenario}|")
    assert not (workspace.folder / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x\npassed=true",), "control character"),
        (("x", "default\r,stowage"), "control character"),
        (("x", "", "podman"), "choose kwok-binary or kind"),
        (("", "default,stowage"), "name it"),
        (("x", "default,stowage", "kind"), "on kwok-binary only"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(workspace: Workspace, arguments: tuple[str, ...], said: str) -> None:
    """A line of its own would be another output, or a command of the runner."""
    done = workspace.call(*arguments)

    assert done.code == 2
    assert said in done.errors
    assert said in workspace.summary()
    assert workspace.outputs() == {"passed": "false"}
    assert workspace.calls() == []


def test_a_scenario_that_measures_usage_gets_its_tool(workspace: Workspace) -> None:
    """The user of an action cannot install one between its steps."""
    workspace.call("hpa/recovery", label="metrics")
    workspace.call("paper/figure-1")

    installs = [line for line in workspace.calls() if line.startswith("tools|install")]
    assert installs == ["tools|install|--quiet|--group|metrics|"]


def test_without_a_scenario_all_of_them_run(workspace: Workspace) -> None:
    """An empty word would be the name of none."""
    workspace.call()

    (only,) = workspace.calls()
    assert only.startswith("run|")
    assert "||" not in only
    assert not only.endswith("--|")


@pytest.mark.parametrize("heading", ["## 1.2.3", "## [1.2.3] - 2026-01-01"])
def test_release_notes_are_the_versions_section(tmp_path: Path, heading: str) -> None:
    """All of it, and nothing of its neighbours."""
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(
        f"# Changelog\n\n## Unreleased\n- later\n\n{heading}\n\n### Added\n- this\n\n"
        "## 1.2\n- old\n\n## 1.2.30\n- other\n"
    )

    done = call(CI / "release-notes", "v1.2.3", str(changelog), cwd=tmp_path)

    assert done == Done(0, "### Added\n- this\n", "")


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("main", "no tag of a release"),
        ("v999.0.0", "check: pyproject.toml says"),
        ("v999.0.0", "stowage-optimizer in benchmarks/strategies/pyproject.toml says"),
    ],
)
def test_a_tag_that_is_not_the_version_is_refused(tmp_path: Path, tag: str, said: str) -> None:
    """The index would have one version, the chart another, the tag a third."""
    done = call(CI / "release-check", tag, cwd=tmp_path)

    assert done.code > 0
    assert said in done.errors


GH = """\
case "$*" in
  *name=report*) cat "$ARTIFACTS" ;;
  */artifacts/7/zip) cat "$REPORT" ;;
  *default_branch) echo main ;;
  *) exit 1 ;;
esac
"""


def artifact(number: int, created: str, **other: object) -> dict[str, object]:
    run = {"head_branch": "main", "head_repository_id": 1, "repository_id": 1}
    run |= {key: value for key, value in other.items() if key in run}
    expired = other.get("expired", False)
    entry = {"id": number, "created_at": created, "expired": expired}
    return {**entry, "workflow_run": run}


def pages_of(tmp_path: Path, *artifacts: dict[str, object]) -> Path:
    """Make the pages of a repository with a release whose page says `released`."""
    checkout = tmp_path / "checkout"
    (checkout / "ci").mkdir(parents=True)
    shutil.copy2(CI / "pages", checkout / "ci")
    page = "docs:\n\t@mkdir -p site/nightly && echo {} | tee site/index.html " + (
        "site/nightly/index.html site/nightly/old.html >/dev/null\n"
    )
    name = ("-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false")
    for word, tag in (("released", "v0.10.0"), ("later", "v0.11.0a1")):
        (checkout / "Makefile").write_text(page.format(word))
        for command in (("init", "-q"), ("add", "."), ("commit", "-qm", word), ("tag", tag)):
            subprocess.run(["git", *name, *command], cwd=checkout, check=True)
    with zipfile.ZipFile(tmp_path / "report.zip", "w") as report:
        report.writestr("index.html", "last night\n")
    (tmp_path / "artifacts").write_text(json.dumps({"artifacts": artifacts}))
    a_program(tmp_path / "bin" / "gh", GH)
    env = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "ARTIFACTS": str(tmp_path / "artifacts"),
        "REPORT": str(tmp_path / "report.zip"),
    }

    done = call(checkout / "ci" / "pages", "out/site", cwd=checkout, env=env)

    assert done.code == 0, done.errors
    return checkout / "out" / "site"


def test_the_pages_are_the_last_release_and_the_last_night(tmp_path: Path) -> None:
    """What is published replaces all that was there."""
    site = pages_of(
        tmp_path,
        artifact(6, "2026-11-01T02:00:00Z"),
        artifact(7, "2026-11-02T02:00:00Z"),
        artifact(8, "2026-11-03T02:00:00Z", expired=True),
        artifact(9, "2026-11-03T02:00:00Z", head_branch="theirs"),
        artifact(10, "2026-11-03T02:00:00Z", head_repository_id=2),
    )

    assert (site / "index.html").read_text() == "released\n"
    assert [path.name for path in (site / "nightly").iterdir()] == ["index.html"]
    assert (site / "nightly" / "index.html").read_text() == "last night\n"


def test_without_a_night_the_pages_say_so(tmp_path: Path) -> None:
    """The first release comes before the first night."""
    site = pages_of(tmp_path)

    assert (site / "nightly" / "index.html").read_text() == "released\n"


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ("", [""]),
        ("default@1.36,stowage, stowage-score-cache", ["", "1.36"]),
        ("default,koordinator", ["compare", ""]),
        ("yunikorn@1.36", ["compare", "", "1.36"]),
    ],
)
def test_the_action_builds_schedulers_of_others_only_to_compare_with_them(
    tmp_path: Path, arms: str, words: list[str]
) -> None:
    """They take minutes; the names of the arms tell whether they are wanted."""
    of_action = call(CI / "action-tools", "key", arms, cwd=tmp_path)
    wanted = call(CI / "tools-key", *words, cwd=tmp_path)

    assert (of_action.code, of_action.said) == (0, wanted.said)
    assert "key=" in wanted.said
