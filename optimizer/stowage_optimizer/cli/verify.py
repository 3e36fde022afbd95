"""`verify`: a plan file against its snapshot, by the independent checker."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from stowage_optimizer.cli.files import left_alone, read_answer, read_snapshot
from stowage_optimizer.cli.solve_options import POLICIES, add_solve_options, read_solve_options
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import REFUSED, OptimizerError
from stowage_optimizer.verify import Violation, verify_plan
from stowage_optimizer.verify.certificate import verify_certificates


def run(arguments: Sequence[str], prog: str = "stowage-optimizer verify") -> int:
    """Run the command, known as ``prog``, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Check a plan against its snapshot; exit 3 if it breaks a rule."
    )
    parser.add_argument("snapshot", type=Path, help="protobuf JSON of a Snapshot")
    parser.add_argument("plan", type=Path, help="protobuf JSON of a Plan")
    parser.add_argument("--certificate", action="store_true", help="also check the prices of every dual bound anew")
    add_solve_options(parser)
    given = parser.parse_args(arguments)
    asked = pb.SolveOptions()
    read_solve_options(given, asked)
    policy = POLICIES[given.policy]
    print(verify_file(given.snapshot, given.plan, policy, asked))  # noqa: T201
    if given.certificate:
        print(verify_certificate_file(given.snapshot, given.plan, policy))  # noqa: T201
    return 0


def verify_certificate_file(snapshot_path: Path, plan_path: Path, policy: pb.Policy) -> str:
    """Return how many limits their prices prove.

    Raises
    ------
    OptimizerError
        A limit is not proved by its prices, or a file is faulty.
    """
    answer = read_answer(plan_path)
    checked = verify_certificates(read_snapshot(snapshot_path), answer.plan, policy, left_alone(answer))
    if checked.violations:
        raise _refused(plan_path, checked.violations)
    return f"{plan_path}: {checked.claims} limits proved by their prices"


def verify_file(snapshot_path: Path, plan_path: Path, policy: pb.Policy, asked: pb.SolveOptions | None = None) -> str:
    """Return what was found good; ``asked`` holds objective and limits.

    Raises
    ------
    OptimizerError
        The plan breaks a rule, or a file is faulty.
    """
    plan = read_answer(plan_path).plan
    violations = verify_plan(read_snapshot(snapshot_path), plan, policy, asked)
    if violations:
        raise _refused(plan_path, violations)
    return f"{plan_path}: good: {len(plan.placements)} placed, {len(plan.moves)} moved, {len(plan.evictions)} evicted"


def _refused(path: Path, violations: Sequence[Violation]) -> OptimizerError:
    listed = "\n  ".join(str(violation) for violation in violations)
    noun = "rule" if len(violations) == 1 else "rules"
    message = f"{path}: breaks {len(violations)} {noun}:\n  {listed}"
    return OptimizerError(message, exit_code=REFUSED)
