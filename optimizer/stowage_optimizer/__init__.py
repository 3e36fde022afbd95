"""The optimiser: Snapshot in, Plan out. Knows nothing of a cluster.

To follow one plan, read in this order:

- a call: in `service/`, `server.py`, `call_handler.py`, `child_run.py`, and in the child process `child.py`;
- its problem: `stages/pipeline.py`, `constraints/reduction.py`, `model/packing.py`;
- search and proofs: in `strategies/lexicographic/`, `strategy.py`, `shared_state.py`, `local_search.py`, `prover.py`
  and `open_phase.py`, with `model/objective.py`, `search/repair.py` and `search/exploration.py`;
- the answer: `assignments/solution_writer.py`, `model/encode.py`, `service/plan_checks.py`, `verify/checker.py`.
"""
