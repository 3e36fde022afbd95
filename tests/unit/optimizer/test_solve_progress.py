"""Who waits for a solve can see how far it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from snapshot_builder import figure_1

from stowage_optimizer.cli import main
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.updates import progress_line, progress_of


def an_update(*proved: bool) -> pb.SolveUpdate:
    tiers = [
        pb.TierResult(
            priority=9 - index,
            placed=10 + index,
            upper_bound=20,
            optimal=optimal,
            disruption=4,
            disruption_lower_bound=2,
        )
        for index, optimal in enumerate(proved)
    ]
    return pb.SolveUpdate(plan=pb.Plan(tiers=tiers))


def test_the_tier_at_work_is_the_first_that_is_not_proved() -> None:
    """Tiers above it are settled, those below wait for it."""
    progress = progress_of(an_update(True, False, False))

    assert progress is not None
    assert (progress.priority, progress.placed, progress.upper_bound) == (8, 11, 20)


def test_a_solve_that_is_done_shows_its_last_tier() -> None:
    """There the numbers of all pods stand."""
    progress = progress_of(an_update(True, True))

    assert progress is not None
    assert progress.priority == 8


def test_what_the_solver_says_itself_goes_before() -> None:
    """It knows of more than its newest plan."""
    update = an_update(False)
    update.progress.stage = "dual bound"

    progress = progress_of(update)

    assert progress is not None
    assert progress.stage == "dual bound"
    assert progress_line(progress, 1.5).endswith(", dual bound")


def test_an_update_without_tiers_tells_nothing() -> None:
    """As of a snapshot that was refused."""
    assert progress_of(pb.SolveUpdate(message="refused")) is None


def test_metrics_show_the_tier_at_work() -> None:
    """A dashboard sees a long solve, not only its end."""
    metrics = Metrics()
    progress = progress_of(an_update(False))
    assert progress is not None

    metrics.progressed(progress)

    for what, value in (("priority", 9), ("placed", 10), ("upper_bound", 20)):
        sample = metrics.registry.get_sample_value(
            "stowage_optimizer_progress", {"what": what}
        )
        assert sample == value


def test_the_command_line_tells_progress_beside_the_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """On standard error, so that JSON stays JSON."""
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(MessageToDict(figure_1())))

    with pytest.raises(SystemExit) as ended:
        main(["solve", str(path), "--strategy", "paper", "--json", "--progress"])

    said = capfd.readouterr()
    assert ended.value.code == 0
    assert json.loads(said.out)["plan"]["optimal"]
    assert "priority 0 and above: 3 of at most 3 placed" in said.err
