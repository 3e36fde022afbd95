"""What is made of the optimiser's plan and of its rehearsal; sums are exact.

The optimiser and the schedulers are stand-ins here.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.price import exact_price, parse_price
from stowage_testbed.base.errors import InputError
from stowage_testbed.simulate.instance import Instance, Judgement, Placements, PlanJudgement, Question, Verification
from stowage_testbed.text.tables import COLUMNS, LINES
from stowage_testbed.whatif import emptying, engine
from stowage_testbed.whatif.emptying import Options, defragmentation_of
from stowage_testbed.whatif.findings import Bill, Defragmentation
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.screen import screen, tables
from stowage_testbed.whatif.settings import PlanLimits, Release

SHARED, KIND = "shared", "node.kubernetes.io/instance-type"
"""The node to which all moved pods go, and the label that tells a node's kind."""

OWN = "stowage"
OPTIONS = Options(PlanLimits(release=Release(("default-scheduler", OWN))), OWN)


@dataclass
class World:
    """Nodes with a price and some pods each, and a node that takes them all.

    The plan empties the nodes ``empties``. The scheduler finds no place for the replacements of the pods ``no_place``,
    and if it ``refuses``, it does so for what is left of a plan.
    """

    prices: dict[str, int]
    pods: dict[str, int]
    empties: Sequence[str] = ()
    scheduler: str = "default-scheduler"
    kinds: dict[str, str] = field(default_factory=dict)
    no_place: frozenset[str] = frozenset()
    refuses: bool = False
    judged: list[pb.Plan] = field(default_factory=list)
    least_micros: int = 0
    shared_micros: int = 1

    def inventory(self) -> Inventory:
        nodes = (
            {"metadata": {"name": name, "labels": {KIND: self.kinds.get(name, "k")}}} for name in (*self.prices, SHARED)
        )
        pods = (
            {
                "metadata": {"namespace": "ns", "name": uid, "uid": uid},
                "spec": {"nodeName": node, "schedulerName": self.scheduler},
            }
            for node, uid in self._all()
        )
        return Inventory(tuple(nodes), tuple(pods))

    def _all(self) -> list[tuple[str, str]]:
        return [(n, f"{n}-{k}") for n, count in self.pods.items() for k in range(count)]

    def verify(self, _: Question) -> Verification:
        made = pb.Snapshot(pod_classes=[pb.PodClass(id="c")])
        for name, price in {**self.prices, SHARED: self.shared_micros}.items():
            made.nodes.add(name=name, hourly_price_micros=price)
        for node, uid in (*self._all(), (SHARED, "stays")):
            pod = made.pods.add(uid=uid, namespace="ns", name=uid, class_id="c")
            pod.node, pod.movable = node, node != SHARED
        made.pods[-1].immovable_reason = "singleton"
        return Verification(snapshot=made)

    def judge(self, question: Question) -> Judgement:
        self.judged += question.plans
        refused = self.refuses and len(self.judged) > 1
        return Judgement((PlanJudgement(not refused, detail="full"),))

    def last_answer(self, request: pb.SolveRequest) -> pb.SolveUpdate:
        self.asked = request
        used = [node for node, count in self.pods.items() if count]
        prices = [self.prices[node] for node in used]
        plan = pb.Plan(
            moves=[
                pb.Move(pod_uid=uid, from_node=node, to_node=SHARED)
                for node, uid in self._all()
                if node in self.empties
            ],
            nodes_in_use=pb.NodesInUse(
                before=len(used) + 1,
                lower_bound=len(used) + 1 - len(self.empties),
                price_before_micros=sum(prices) + self.shared_micros,
                price_lower_bound_micros=self.least_micros + self.shared_micros,
            ),
        )
        return pb.SolveUpdate(last=True, plan=plan)

    def place(self, instance: Instance) -> Placements:
        names = (pod["metadata"]["name"] for pod in instance.pods)
        lost = {f"ns/{uid}-again" for uid in self.no_place}
        again = [f"ns/{name}" for name in names if name.endswith("-again")]
        nodes = {key: None if key in lost else SHARED for key in again}
        reasons = dict.fromkeys(lost, "0/9 nodes are available")
        return Placements("i", nodes, reasons=reasons)


Ask = Callable[..., Defragmentation]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    def asked(world: World, options: Options = OPTIONS) -> Defragmentation:
        @contextmanager
        def process(*_: Any, **__: Any) -> Iterator[World]:
            yield world

        monkeypatch.setattr(engine, "SchedulerVerifier", process)
        monkeypatch.setattr(emptying, "Simulator", process)
        monkeypatch.setattr(engine, "running_service", lambda: nullcontext(world))
        return defragmentation_of(world.inventory(), options)

    return asked


def a_fleet(kinds: int, seed: int) -> World:
    """Return a fleet of nodes whose prices have six decimals, and a plan of some."""
    chosen = random.Random(seed)  # noqa: S311 - for a test
    names = [f"n{number:03}" for number in range(4 * kinds)]
    of_kind = {name: f"type-{at % kinds:02}" for at, name in enumerate(names)}
    each = {kind: chosen.randint(1, 9 * 10**6) for kind in set(of_kind.values())}
    return World(
        prices={name: each[of_kind[name]] for name in names},
        pods={name: chosen.randint(0, 4) for name in names},
        empties=chosen.sample(names, len(names) // 2),
        kinds=of_kind,
        no_place=frozenset(f"{name}-0" for name in chosen.sample(names, 5)),
    )


def fits(text: str) -> list[str]:
    lines = text.split("\n")
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    return lines


def test_what_is_saved_is_what_the_emptied_nodes_cost(ask: Ask) -> None:
    """To the millionth: in the findings, by kind, in the JSON and on the screen."""
    world = a_fleet(26, 1)
    world.prices["cheap"], world.pods["cheap"] = 41_600, 2
    world.kinds["cheap"] = "t4g"

    found = ask(world)

    saved = sum(world.prices[one.name] for one in found.emptied)
    document = found.document()
    prices = [parse_price(document[f"hourly{name}"]) for name in ("PriceBefore", "PriceAfter", "Saving")]
    assert saved > 0
    assert found.saved_micros == saved
    assert sum(one.emptied.hourly_micros for one in found.kinds) == saved
    before = sum(one.used.hourly_micros for one in found.kinds)
    assert before == found.before.hourly_micros
    assert prices == [before, before - saved, saved]
    assert {one.name for one in found.emptied} <= set(world.empties)
    lines = fits(screen(found))
    head = next(at for at, line in enumerate(lines) if line.startswith("kind"))
    at = lines[head].index("an hour") + len("an hour")
    rows = lines[head + 1 : lines.index("", head)]
    every = next(one.rows for one in tables(found) if one.title == "Nodes in use, by kind")
    # The shared node is of a kind of its own.
    assert len(every) == 27 + 1 + 1
    for told in ([Decimal(row[:at].split()[-1].replace(",", "")) for row in rows], [Decimal(row[3]) for row in every]):
        assert sum(told[:-1]) == told[-1]


def test_whatever_the_fleet_the_answer_fits_on_one_screen(ask: Ask) -> None:
    """And the tables have all of it; nothing is left out of a sum for want of room."""
    found = ask(a_fleet(60, 3), replace(OPTIONS, least_gain=Fraction(1, 2)))
    emptied = [msgspec.structs.replace(one, name="n" * 253, kind="k" * 80) for one in found.emptied]
    long = msgspec.structs.replace(
        found, emptied=tuple(emptied), opened=("o" * 253,) * 3, without_price=("w" * 253,) * 9
    )
    text = screen(long)

    assert fits(text)
    assert "further kinds" in text
    assert exact_price(found.before.hourly_micros) in text
    all_moves = next(one for one in tables(long) if one.title.startswith("Moves"))
    assert len(all_moves.rows) == len(found.moves())


def test_nodes_whose_pods_find_no_place_are_left_out(ask: Ask) -> None:
    """What is proposed was tried as it is; what was proved was not about that."""
    world = World({"a": 5, "b": 7}, {"a": 1, "b": 1}, ["a", "b"])
    world.no_place = frozenset({"a-0"})

    found = ask(world)

    assert found.certainty == "Rehearsed"
    assert [one.name for one in found.emptied] == ["b"]
    (left,) = found.left_out
    why = (left.node, left.why, left.detail)
    assert why == ("a", "no place for the pods", "0/9 nodes are available")
    assert (found.saved_micros, found.most_saved_micros) == (7, 12)
    assert "no plan saves more than 0.000012 an hour" in screen(found)


@pytest.mark.parametrize(
    ("prices", "pods", "gains"),
    [
        # Nodes with the best gain come first.
        ([5, 10, 9], [1, 4, 2], {"a": 1.4, "c": 1.26, "b": 0.7}),
        ([10, 10], [5, 5], {"a": 0.9524, "b": 0.9524}),
        ([30, 10], [5, 5], {"a": 1.4634, "b": 0.4878}),
        # Nothing is known to be saved where only others have a price.
        ([0, 10], [1, 1], {"b": 1.8182, "a": 0.0}),
    ],
)
def test_gain_is_the_share_of_the_price_over_the_share_of_the_moves(
    ask: Ask, prices: list[int], pods: list[int], gains: dict[str, float]
) -> None:
    """If a plan ends early, the most was saved for what it took."""
    names = "abc"[: len(prices)]
    world = World(dict(zip(names, prices, strict=True)), dict(zip(names, pods, strict=True)), names)
    found = ask(world)

    assert {one.name: one.gain for one in found.emptied} == pytest.approx(gains, 1e-3)
    assert [one.name for one in found.emptied] == list(gains)
    assert found.moves()[0].to_node == SHARED


@pytest.mark.parametrize(
    ("scheduler", "certainty", "said"),
    [
        ("default-scheduler", "Rehearsed", "Rehearsed: "),
        # The release's own scheduler steers each pod; nothing needs to be rehearsed.
        (OWN, "Reserved", "Reserved: the scheduler holds room for its replacement"),
    ],
)
def test_a_node_not_worth_its_moves_keeps_its_pods(ask: Ask, scheduler: str, certainty: str, said: str) -> None:
    """Of any scheduler; it is told with its gain, so that a user can ask for less."""
    world = World({"a": 90, "b": 10}, {"a": 1, "b": 4}, ["a", "b"], scheduler)

    found = ask(world, replace(OPTIONS, least_gain=Fraction(1, 2)))

    assert [one.name for one in found.emptied] == ["a"]
    (left,) = found.left_out
    assert (left.node, left.why) == ("b", "not worth the moves")
    assert left.gain == pytest.approx(10 / 101 * 5 / 4, abs=1e-4)
    assert (found.saved_micros, found.certainty) == (90, certainty)
    assert said in screen(found)


def test_what_is_left_of_a_plan_is_looked_at_again(ask: Ask) -> None:
    """Rules between pods may need a move that was dropped."""
    world = World({"a": 90, "b": 10}, {"a": 1, "b": 4}, ["a", "b"], OWN, refuses=True)
    found = ask(world, replace(OPTIONS, least_gain=Fraction(1, 2)))
    assert (found.emptied, found.saved_micros, found.certainty) == ((), 0, None)
    assert {one.from_node for one in world.judged[-1].moves} == {"a"}
    assert any(one.detail == "full" for one in found.not_judged)


def test_nodes_that_were_not_asked_about_neither_give_nor_take_pods(ask: Ask) -> None:
    """The sums and the limit are those of the others alone."""
    world = World({"a": 5, "b": 7}, {"a": 2, "b": 1}, ["a"], least_micros=7)
    world.kinds = {"a": "spot"}

    found = ask(world, replace(OPTIONS, nodes={"matchLabels": {KIND: "spot"}}))

    asked = world.asked.snapshot
    room = {one.name: one.allocatable.pods for one in asked.nodes}
    assert (room["b"], room[SHARED]) == (1, 1)
    assert {one.node for one in asked.pods if one.movable} == {"a"}
    assert (found.nodes, found.before, found.least) == (1, Bill(1, 5), Bill(0, 0))
    # Of no node at all it would look as if nothing could be saved.
    with pytest.raises(InputError, match="no node has the labels"):
        ask(world, replace(OPTIONS, nodes={"matchLabels": {"x": ""}}))


def test_without_prices_nodes_are_counted(ask: Ask) -> None:
    """Fewer nodes are worth knowing, too; the answer says which price is missing."""
    world = World({"a": 0, "b": 0}, {"a": 1, "b": 2}, ["a", "b"], shared_micros=0)
    free = ask(world)

    text = screen(free)

    # Then each counts as one.
    assert [one.gain for one in free.emptied] == [1.0, 0.5]

    assert "no price is known" in text
    assert "2 nodes could be emptied with 3 moves." in text
    assert "Proved: no plan empties more." in text
    assert "hourlySaving" not in free.document()
    one_without = ask(World({"a": 5, "b": 0}, {"a": 1, "b": 1}, ["a"]))
    assert one_without.without_price == ("b",)
    assert "Without a price, and left as they are: b." in screen(one_without)
