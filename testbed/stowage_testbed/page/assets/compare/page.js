// Controls, and what they redraw.

const data = JSON.parse(byId("data").textContent);
const ALL_ROUNDS = 0;
const FINE = 1000; // positions of the slider
const PLAY_MS = 8000;
const state = { time: 0, horizon: 1, chosen: null, panels: [], changes: [] };

function chosenNumber(id) {
  return Number(byId(id).value);
}

function shownRuns() {
  return data.runs.filter((run) =>
    run.limits === chosenNumber("limits") && run.round === chosenNumber("round"));
}

function drawPlacements() {
  const runs = shownRuns();
  const resource = byId("resource").value;
  const colour = byId("colour").value;
  const keys = keysOf(data.runs, colour);
  const places = new Map(keys.map((key, index) => [key, index]));
  const peaks = runs.map((run) => peakOf(run, data.clusters[run.cluster], resource));
  const top = roundedUp(Math.max(0, ...peaks));
  state.changes = changesOf(runs);
  state.horizon = Math.max(state.changes.at(-1) * 1.02, 1e-3);
  drawKeys(keys);
  // All of them first: how wide one is depends on how many there are.
  const containers = runs.map((run) => element("div", {
    class: "panel", "data-arm": data.arms[run.arm],
  }));
  byId("panels").replaceChildren(...containers);
  state.panels = runs.map((run, index) => {
    const cluster = data.clusters[run.cluster];
    const panel = {
      run, cluster, resource, top, title: data.arms[run.arm], bars: barsOf(cluster),
      keyOf: (kind) => places.get(kind[KIND[colour]]),
      choose: (bar) => { state.chosen = { panel: index, bar }; drawMoment(); },
    };
    return { ...panel, fill: barPanel(containers[index], panel) };
  });
  if (state.chosen && !state.panels[state.chosen.panel]?.bars[state.chosen.bar]) {
    state.chosen = null;
  }
  state.time = Math.min(state.time, state.horizon);
  drawMoment();
}

function drawMoment() {
  const slider = byId("time");
  slider.value = String(Math.round((state.time / state.horizon) * FINE));
  slider.setAttribute("aria-valuetext", seconds(state.time));
  byId("now").textContent = seconds(state.time);
  const moments = state.panels.map((panel, index) => {
    const bar = state.chosen?.panel === index ? state.chosen.bar : -1;
    return panel.fill(state.time, bar);
  });
  if (state.chosen) {
    const { panel, bar } = state.chosen;
    byId("node").replaceChildren(
      ...nodeDetail(state.panels[panel], moments[panel], bar, state.time),
    );
  } else {
    byId("node").replaceChildren(
      element("p", { class: "hint" }, "Choose a node above to list its pods at this moment."),
    );
  }
  drawLoads();
}

function drawLoads() {
  const load = byId("load");
  const [limits, round] = [chosenNumber("limits"), chosenNumber("round")];
  const lines = data.loads[load.value]
    .filter((line) => line.limits === limits)
    .map((line) => ({ ...line, bold: line.round === round }));
  const share = data.shares.includes(load.value);
  drawCurves(byId("loads"), {
    lines, arms: data.arms, log: false, marker: state.time,
    label: `${load.selectedOptions[0].text}, over time, a line an arm`,
    xLabel: "time from the start of the window", yText: share ? percent : (value) => `${+value.toPrecision(4)}`,
  });
}

function drawLatencies() {
  const latency = byId("latency-kind");
  const limits = chosenNumber("latency-limits");
  const lines = data.latencies[latency.value]
    .filter((line) => line.limits === limits)
    .map((line) => ({ ...line, bold: line.round === ALL_ROUNDS }));
  drawCurves(byId("latencies"), {
    lines, arms: data.arms, log: byId("log").checked, yTop: 1, yText: percent,
    label: `${latency.selectedOptions[0].text}, share of pods by time, a line an arm`,
    xLabel: "time",
  });
}

function goTo(time) {
  state.time = Math.min(Math.max(time, 0), state.horizon);
  drawMoment();
}

function goToChange(direction) {
  const { changes, time } = state;
  const next = direction > 0
    ? changes.find((change) => change > time + 1e-9)
    : changes.findLast((change) => change < time - 1e-9);
  if (next !== undefined) goTo(next);
}

function play() {
  const button = byId("play");
  if (state.playing) {
    cancelAnimationFrame(state.playing);
    state.playing = 0;
    button.textContent = "Play";
    return;
  }
  button.textContent = "Pause";
  if (state.time >= state.horizon) state.time = 0;
  let last = performance.now();
  const step = (now) => {
    goTo(state.time + ((now - last) / PLAY_MS) * state.horizon);
    last = now;
    if (state.time < state.horizon) state.playing = requestAnimationFrame(step);
    else play();
  };
  state.playing = requestAnimationFrame(step);
}

// Only rounds whose placements are on the page can be chosen.
function fillRounds() {
  const limits = chosenNumber("limits");
  const rounds = new Set(data.runs.filter((run) => run.limits === limits).map((run) => run.round));
  const before = byId("round").value;
  byId("round").replaceChildren(...[...rounds].sort((a, b) => a - b)
    .map((round) => element("option", { value: round }, `round ${round}`)));
  if ([...rounds].some((round) => String(round) === before)) byId("round").value = before;
}

function showAllMetrics() {
  const all = byId("all-metrics").checked;
  for (const row of document.querySelectorAll("tr.quiet")) row.hidden = !all;
}

function start() {
  byId("all-metrics")?.addEventListener("change", showAllMetrics);
  if (byId("all-metrics")) showAllMetrics();
  if (!data.runs.length) return;
  fillRounds();
  byId("limits").addEventListener("change", () => { fillRounds(); drawPlacements(); });
  for (const id of ["round", "resource", "colour"]) {
    byId(id).addEventListener("change", drawPlacements);
  }
  byId("time").max = String(FINE);
  byId("time").addEventListener("input", () => goTo((chosenNumber("time") / FINE) * state.horizon));
  byId("earlier").addEventListener("click", () => goToChange(-1));
  byId("later").addEventListener("click", () => goToChange(1));
  byId("play").addEventListener("click", play);
  byId("load").addEventListener("change", drawLoads);
  for (const id of ["latency-kind", "latency-limits", "log"]) {
    byId(id).addEventListener("change", drawLatencies);
  }
  state.time = Infinity; // a report opens at the end, where the result is
  drawPlacements();
  drawLatencies();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    drawPlacements();
    drawLatencies();
  });
}

start();
