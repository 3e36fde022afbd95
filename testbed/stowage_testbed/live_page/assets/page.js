// The stream, the controls, and when what is drawn anew.

const TABLES_MS = 500; // the least time between two fillings of the tables
const SPOKEN_MS = 10000; // the least time between two summaries that are read out
const PLAY_MS = 15000; // how long the whole time takes when it is played
const STILL_MS = 1000; // pause between steps for those who want less motion
const FINE = 1000; // positions of the slider

const view = {
  model: null, layout: null, palette: null, keys: null, counts: null, grouped: null, chosen: -1, plan: null, drawn: null,
  live: true, time: 0, planUid: "", planChosen: false, playing: 0, width: 0,
};
const due = { frame: 0, layout: true, colours: true, moment: true, tables: 0, spoken: 0 };
const lessMotion = window.matchMedia("(prefers-reduced-motion: reduce)");

function ask(...parts) {
  for (const part of parts) due[part] = true;
  due.frame ||= requestAnimationFrame(frame);
}

function frame(now) {
  due.frame = 0;
  if (!view.model) return;
  const stage = byId("stage");
  if (due.colours) view.palette = paletteNow();
  if (due.moment) moveTo(view.live ? view.model.now : view.time);
  if (due.layout) layOut(stage);
  if (due.moment || due.colours || due.layout) {
    view.keys = keysNow();
    view.amounts = amountsOf(view.model, view.resource);
    view.loads = loadsOf(view.model, view.resource);
    view.counts = countedPods(view.model);
    view.grouped = view.layout.form === "bars" ? groupedPods(view.model, view.counts, view.keys) : null;
  }
  drawMap(byId("map"), stage.scrollTop, view);
  if (!due.drawn) due.drawn = performance.mark("first-picture");
  if (due.moment) drawNumbers();
  due.layout = due.colours = due.moment = false;
  if (now >= due.tables) drawTables(now);
  else due.later ||= setTimeout(() => { due.later = 0; ask(); }, due.tables - now);
}

function moveTo(time) {
  const others = showAt(view.model, Math.max(time, view.model.from));
  view.time = view.model.shown.time;
  if (others) {
    due.layout = true;
    fillResources();
  }
  const plans = plansAt(view.model, view.time);
  // What is proposed or carried out shows itself, unless the reader has chosen. It stays
  // when it has ended, without its arrows: an older proposal does not take its place.
  const shown = plans.findIndex((plan) => plan.uid === view.planUid);
  const newer = shown < 0 ? plans : plans.slice(0, shown);
  const open = newer.find((plan) => plan.phase === "Proposed" || plan.phase === "Executing");
  if (!view.planChosen && open) view.planUid = open.uid;
  view.plans = plans;
  view.plan = plans.find((plan) => plan.uid === view.planUid) ?? null;
  view.drawn = view.planChosen || !ENDED.includes(view.plan?.phase) ? view.plan : null;
  drawTime();
}

function layOut(stage) {
  view.width = stage.clientWidth;
  view.layout = layoutOf(view.model, view.width, byId("form").value);
  byId("room").style.height = `${view.layout.height}px`;
  const canvas = byId("map");
  const height = Math.min(view.layout.height, Math.round(window.innerHeight * 0.72));
  stage.style.height = `${height}px`;
  const ratio = window.devicePixelRatio || 1;
  canvas.style.width = `${view.width}px`;
  canvas.style.height = `${height}px`;
  if (canvas.width !== view.width * ratio) canvas.width = view.width * ratio;
  if (canvas.height !== height * ratio) canvas.height = height * ratio;
}

// Pods are coloured by keys: the commonest first, but priorities from the highest.
function keysNow() {
  const { model } = view;
  view.resource = byId("resource").value;
  const colour = byId("colour").value;
  const heat = view.layout.form === "heat";
  byId("colour").disabled = heat; // there a colour is a load
  if (view.keys?.kinds === model.kinds.length && view.keys.colour === colour &&
      view.keys.model === model && view.keys.heat === heat) return view.keys;
  const counts = new Map();
  const part = KIND[colour];
  for (let pod = 0; pod < model.shown.pods; pod += 1) {
    const kind = model.kinds[model.shown.kind[pod]];
    if (kind) counts.set(kind[part], (counts.get(kind[part]) ?? 0) + 1);
  }
  for (const kind of model.kinds) if (!counts.has(kind[part])) counts.set(kind[part], 0);
  const names = [...counts.keys()].sort((a, b) => colour === "priority"
    ? b - a : counts.get(b) - counts.get(a) || NATURAL.compare(a, b));
  const places = new Map(names.map((name, place) => [name, Math.min(place, SERIES)]));
  if (heat) drawScale();
  else drawKeys(names);
  return {
    model, colour, heat, kinds: model.kinds.length, count: SERIES + 1,
    ofKind: Uint8Array.from(model.kinds, (kind) => places.get(kind[part])),
  };
}

function drawScale() {
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = heatColour(view.palette, share);
    return element("li", {}, swatch, percent(share));
  });
  const empty = element("li", {}, element("span", { class: "swatch empty" }), "no pod");
  byId("keys").replaceChildren(element("ul", { class: "legend" }, ...steps, empty));
}

function fillResources() {
  const select = byId("resource");
  const there = new Set([...select.options].map((option) => option.value));
  for (const resource of extendedOf(view.model.shown.rows)) {
    if (!there.has(resource)) select.append(element("option", { value: resource }, resource));
  }
}

function drawTables(now) {
  due.tables = now + TABLES_MS;
  drawWaiting(view.model);
  drawPlans(view.plans, view.planUid, choosePlan);
  drawPlan(view.model, view.plan, askAndSend);
  drawNode();
  if (byId("zones").open) drawZoneTable();
  drawNotice(view.model.notice);
  if (now < due.spoken) return;
  due.spoken = now + SPOKEN_MS;
  const { nodes, placed, waiting } = view.sums;
  byId("spoken").textContent = `${plural(placed, "pod")} on ${plural(nodes, "node")}, ${waiting.toLocaleString("en")} waiting.`;
}

function drawNotice(text) {
  const notice = byId("notice");
  if (notice.textContent !== text) notice.textContent = text;
  notice.hidden = !text;
}

function drawTime() {
  const { model, live, time } = view;
  const slider = byId("time");
  const span = Math.max(model.now - model.from, 1);
  slider.value = String(Math.round(((time - model.from) / span) * FINE));
  const at = new Date(model.began + time).toLocaleTimeString("en-GB");
  const ago = (model.now - time) / 1000;
  const text = live ? `${at}, now` : `${at}, ${durationText(ago)} ago`;
  byId("now").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  byId("live").setAttribute("aria-pressed", live);
}

function goTo(time) {
  const { model } = view;
  view.live = time >= model.now;
  view.time = Math.min(Math.max(time, model.from), model.now);
  ask("moment");
}

function goToChange(direction) {
  const { model, time } = view;
  if (direction > 0) {
    const next = changesUntil(model, time);
    goTo(next < model.logged ? model.log[next * WIDTH] : model.now);
  } else {
    const before = changesUntil(model, time - 0.5);
    goTo(before ? model.log[(before - 1) * WIDTH] : model.from);
  }
}

function play() {
  const button = byId("play");
  if (view.playing) {
    view.playing = 0;
    button.textContent = "Play";
    return;
  }
  button.textContent = "Pause";
  if (view.live || view.time >= view.model.now) goTo(view.model.from);
  const run = {};
  view.playing = run;
  const end = view.model.now;
  const speed = (end - view.model.from) / PLAY_MS;
  let last = performance.now();
  const step = () => {
    if (view.playing !== run) return;
    const now = performance.now();
    goTo(view.time + (now - last) * speed);
    last = now;
    if (view.time >= end) play();
    else next();
  };
  const next = () => (lessMotion.matches ? setTimeout(step, STILL_MS) : requestAnimationFrame(step));
  next();
}

function chooseNode(node) {
  view.chosen = node;
  if (node >= 0) {
    const { layout, model } = view;
    const stage = byId("stage");
    const top = layout.y[node];
    if (top < stage.scrollTop) stage.scrollTop = top - 8;
    const below = top + layout.size.line - stage.scrollTop - stage.clientHeight;
    if (below > 0) stage.scrollTop += below + 8;
    const row = model.shown.rows[node];
    const pods = view.counts[node];
    const shares = ["cpu", "memory"].map((resource) => `${resource} ${percent(loadsOf(model, resource)[node])}`);
    const about = [plural(pods, "pod"), ...shares, ...statesOf(row)].join(", ");
    byId("chosen-node").textContent = `${row[NODE.name]}, ${row[NODE.zone] || "no zone"}: ${about}`;
  }
  due.tables = 0;
  ask();
}

function choosePlan(uid) {
  view.planUid = uid;
  view.planChosen = true;
  due.tables = 0;
  ask("moment");
}

function findNode() {
  const text = byId("find").value.trim();
  if (!text || !view.model) return;
  const { order } = view.layout;
  const named = (node) => view.model.shown.rows[node][NODE.name];
  const found = order.find((node) => named(node) === text) ?? order.find((node) => named(node).includes(text));
  if (found === undefined) byId("chosen-node").textContent = `No node is called ${text}.`;
  else chooseNode(found);
}

function begin(told) {
  const name = view.chosen >= 0 ? view.model.shown.rows[view.chosen]?.[NODE.name] : null;
  const wall = view.model ? view.model.began + view.time : 0;
  view.model = modelOf(told);
  signatures.clear();
  view.time = wall - told.began;
  view.keys = null;
  showAt(view.model, view.live ? view.model.now : Math.max(view.time, view.model.from));
  view.chosen = name ? view.model.shown.rows.findIndex((row) => row?.[NODE.name] === name) : -1;
  fillResources();
  byId("main").setAttribute("aria-busy", "false");
  ask("layout", "colours", "moment");
}

function listen() {
  const stream = new EventSource("events");
  stream.addEventListener("snapshot", (event) => begin(JSON.parse(event.data)));
  stream.addEventListener("delta", (event) => {
    addNews(view.model, JSON.parse(event.data));
    ask("moment");
  });
  stream.addEventListener("open", () => drawNotice(view.model?.notice ?? ""));
  stream.addEventListener("error", () => drawNotice("The stream has ended: stowage was stopped, or will answer again in a moment."));
}

function start() {
  for (const id of ["form", "resource", "colour"]) {
    byId(id).addEventListener("change", () => { view.keys = null; ask("layout", "colours"); });
  }
  byId("palette").addEventListener("change", (event) => {
    document.documentElement.dataset.palette = event.target.value;
    ask("colours");
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { view.keys = null; ask("colours"); });
  byId("time").max = String(FINE);
  byId("time").addEventListener("input", (event) => {
    const { model } = view;
    const share = Number(event.target.value) / FINE;
    goTo(share >= 1 ? model.now : model.from + share * (model.now - model.from));
  });
  byId("earlier").addEventListener("click", () => goToChange(-1));
  byId("later").addEventListener("click", () => goToChange(1));
  byId("play").addEventListener("click", play);
  byId("live").addEventListener("click", () => goTo(Infinity));
  byId("find").addEventListener("change", findNode);
  byId("zones").addEventListener("toggle", () => { due.tables = 0; ask(); });
  const map = byId("map");
  map.addEventListener("click", (event) => {
    chooseNode(nodeAt(view.layout, event.offsetX, event.offsetY + byId("stage").scrollTop));
  });
  map.addEventListener("keydown", (event) => {
    if (!view.layout || !/^(Arrow|Page|Home|End)/.test(event.key)) return;
    event.preventDefault();
    chooseNode(nextNode(view.layout, view.chosen, event.key));
  });
  byId("stage").addEventListener("scroll", () => ask(), { passive: true });
  // Also when a scroll bar comes: then the nodes have less room.
  new ResizeObserver(() => ask("layout")).observe(byId("stage"));
  listen();
}

start();
