// The page: one world, what is chosen of it, and a slider through what was seen.

const TABLES_MS = 400; // between two looks at the tables
const SLIDING_MS = 100; // the same while somebody slides
const CLOCK_MS = 200; // between two looks at the time while nothing changes

const view = {
  world: null, chosen: null, plan: null, following: true, time: 0,
  began: 0, ahead: 0, rights: { change: false, why: "" }, parsed: new Map(),
  keys: new Map(), places: null, moment: null, drawn: "", tables: "", tablesAt: -Infinity, tablesDue: false, ticked: -1, tickedAt: 0,
};
const saved = JSON.parse(byId("data").textContent);
const picture = new Picture(byId("nodes"));
view.width = byId("nodes").parentElement.clientWidth;

// The server's clock, in milliseconds since it began to watch.
function clockNow() {
  const { end } = view.world;
  return saved ? end : Math.max(end, Math.round(performance.now() + view.ahead));
}

function begin(now) {
  view.world = new World(now);
  view.began = now.began;
  view.ahead = now.clock - performance.now();
  view.keys = new Map();
  view.parsed = new Map();
  listResources();
  document.body.classList.add("begun");
  draw();
  performance.mark("first-picture");
}

function listResources() {
  const select = byId("resource");
  const listed = [...select.options].map((one) => one.value);
  const { resources, amounts } = view.world.cluster;
  for (const name of resources.filter((one) => one !== "pods").concat("pods")) {
    if (listed.includes(name) || !amounts[name].some((amount) => amount > 0)) continue;
    select.append(element("option", { value: name }, name === "pods" ? "pods" : `${name} requested`));
  }
}

// Numbers of the keys that pods are coloured by; a key keeps its number.
function keysOfKinds(colour) {
  const { run, pods } = view.world;
  if (!view.keys.has(colour)) {
    const kind = [];
    for (let at = 0; at < pods.length; at += POD) {
      if (pods.values[at + 2] !== PHASE.gone) kind.push(pods.values[at]);
    }
    view.keys.set(colour, new Map(keysOf([{ ...run, kind }], colour).map((key, index) => [key, index])));
  }
  const numbers = view.keys.get(colour);
  const column = KIND[colour];
  return run.kinds.map((kind) => {
    if (!numbers.has(kind[column])) numbers.set(kind[column], numbers.size);
    return numbers.get(kind[column]);
  });
}

function draw() {
  const { world } = view;
  if (!world) return;
  view.time = view.following ? clockNow() : Math.max(view.time, world.since);
  world.shown = view.time;
  world.seek(view.time);
  drawTime();
  const [resource, colour] = [byId("resource").value, byId("colour").value];
  const { width } = view;
  const plan = chosenPlan();
  const drawn = [world.version, world.nodesVersion, width, resource, colour, view.chosen,
    numberOf(plan), picture.colours.ink].join("|");
  if (drawn === view.drawn) return;
  if (!view.places || view.places.key !== `${world.nodesVersion}|${width}`) {
    view.places = { ...placesOf(world, width), key: `${world.nodesVersion}|${width}` };
    listResources();
  }
  const keyOfKind = keysOfKinds(colour);
  view.moment = momentNow(world, resource, keyOfKind);
  picture.draw({ ...view, world, resource, keyOfKind, plan }, width);
  drawHead(resource, colour);
  view.drawn = drawn;
}

function drawHead(resource, colour) {
  const { places, moment } = view;
  byId("colour").disabled = places.heat;
  byId("summary").textContent = `${plural(places.count, "node")}: `
    + `${plural(moment.placed, "pod")} placed, ${moment.waiting.toLocaleString("en")} waiting`;
  const legend = places.heat ? `heat ${resource}` : [...view.keys.get(colour).keys()].join("\n");
  if (byId("keys").dataset.shown === legend) return;
  byId("keys").dataset.shown = legend;
  if (places.heat) drawHeatKeys();
  else drawKeys([...view.keys.get(colour).keys()]);
}

function drawHeatKeys() {
  const steps = Array.from({ length: HEATS }, (_, n) => element("li", {},
    element("span", { class: `swatch heat-${n}` }), percent(n / (HEATS - 1))));
  byId("keys").replaceChildren(element("ul", { class: "legend" }, ...steps));
}

// ---- time

function drawTime() {
  const { world } = view;
  const slider = byId("time");
  slider.min = world.since;
  slider.max = Math.max(clockNow(), world.since + 1);
  slider.value = view.time;
  const wall = new Date(view.began + view.time);
  const text = wall.toLocaleTimeString("en-GB");
  if (byId("now").textContent !== text) byId("now").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  byId("live").setAttribute("aria-pressed", view.following);
}

function goTo(time) {
  view.following = false;
  view.time = Math.min(Math.max(time, view.world.since), clockNow());
  draw();
  view.tablesDue = true;
}

byId("time").addEventListener("input", (event) => goTo(Number(event.target.value)));
const step = (forward) => goTo(view.world.stepFrom(view.time, forward));
byId("earlier").addEventListener("click", () => step(false));
byId("later").addEventListener("click", () => step(true));
// A millisecond is no step for a reader: with arrow keys the slider goes by changes.
byId("time").addEventListener("keydown", (event) => {
  const forward = { ArrowLeft: false, ArrowDown: false, ArrowRight: true, ArrowUp: true }[event.key];
  if (forward === undefined) return;
  event.preventDefault();
  step(forward);
});
byId("live").addEventListener("click", () => {
  view.following = true;
  draw();
  drawTables();
});

// ---- nodes

function choose(node) {
  if (node === null) return;
  view.chosen = node;
  draw();
  byId("words").textContent = nodeWords(node);
  drawTables();
}

const canvas = byId("nodes");
canvas.addEventListener("click", (event) => {
  const { left, top } = canvas.getBoundingClientRect();
  choose(nodeAt(view.places, event.clientX - left, event.clientY - top));
});
canvas.addEventListener("mousemove", (event) => {
  if (!view.places) return;
  const { left, top } = canvas.getBoundingClientRect();
  const node = nodeAt(view.places, event.clientX - left, event.clientY - top);
  canvas.title = node === null ? "" : nodeWords(node);
});
canvas.addEventListener("keydown", (event) => {
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  if (!keys.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  choose(nodeBeside(view.places, view.chosen, event.key));
});

function nodeWords(node) {
  const { world, moment } = view;
  const resource = byId("resource").value;
  const has = roomOf(world, node, resource);
  const pods = moment.first[node + 1] - moment.first[node];
  const notes = [...notesOf(world, node), ...devicesOf(world, node)].map((note) => `, ${note}`).join("");
  const share = has ? `, ${resource} ${percent(moment.load[node] / has)}` : "";
  return `${world.cluster.names[node]}: ${plural(pods, "pod")}${share}${notes}`;
}

function nodeParts() {
  const { world, moment, chosen } = view;
  if (chosen === null || world.nodes.values[chosen] === undefined || world.nodes.values[chosen] < 0) {
    return [element("p", { class: "hint" }, "Choose a node above to list its pods.")];
  }
  const { values } = world.pods;
  const run = {
    ...world.run,
    kind: new Proxy({}, { get: (_, row) => values[row * POD] }),
    devices: (row) => world.whys[values[row * POD + 3]] ?? "",
  };
  const name = world.cluster.names[chosen];
  const notes = notesOf(world, chosen);
  const panel = { run, cluster: world.cluster, title: "node", bars: [{ name, nodes: [chosen] }] };
  const parts = nodeDetail(panel, { nodes: { [chosen]: podsOn(moment, chosen) } }, 0);
  const said = devicesOf(world, chosen).map((words) => element("p", { class: "note" }, `Of this node, ${words}.`));
  const warned = notes.length ? [element("p", { class: "warning" }, `This node is ${notes.join(", ")}.`)] : [];
  return [...parts, ...said, ...warned];
}

// ---- plans and tables

// A number for each version of a plan that is shown.
const planNumbers = new WeakMap();
let plansShown = 0;

function numberOf(plan) {
  if (!plan) return "";
  if (!planNumbers.has(plan)) planNumbers.set(plan, String(plansShown += 1));
  return planNumbers.get(plan);
}

function chosenPlan() {
  const plans = view.world.plansAt(view.time);
  return plans.find((one) => one.name === view.plan) ?? plans[0] ?? null;
}

// Puts other content in a place; what was scrolled stays so, and a focus stays.
function renew(place, parts) {
  const lists = () => [...place.querySelectorAll(".list")];
  const scrolled = lists().map((list) => list.scrollTop);
  const focused = lists().indexOf(document.activeElement);
  place.replaceChildren(...parts);
  lists().forEach((list, index) => { list.scrollTop = scrolled[index] ?? 0; });
  if (focused >= 0) lists()[focused]?.focus();
}

// What is in a place is made anew only if it says something else: a button stays.
function fill(id, key, parts) {
  const place = byId(id);
  if (place.dataset.shown === key) return;
  renew(place, parts());
  place.dataset.shown = key;
}

function drawTables() {
  const { world } = view;
  if (!world || !view.moment) return;
  view.tablesAt = performance.now();
  view.tablesDue = false;
  const lost = view.away || (world.lost ? `The cluster does not answer: ${world.lost}` : "");
  byId("away").textContent = lost;
  byId("away").hidden = !lost;
  if (view.tables !== `${world.version}|${view.chosen}`) {
    view.tables = `${world.version}|${view.chosen}`;
    renew(byId("waiting"), waitingTables(world, view.parsed));
    renew(byId("node"), nodeParts());
  }
  const plans = world.plansAt(view.time);
  const plan = chosenPlan();
  fill("plans", JSON.stringify([plans.map(planTitle), plan?.name]), () => planList(plans, plan));
  fill("plan", numberOf(plan), () => (plan ? planParts(plan) : []));
  const choices = saved || !view.following || !view.rights.change ? [] : choicesOf(plan);
  fill("choices", JSON.stringify([choices, plan?.name]), () => choices.map(
    (what) => sureButton(what, plan, (text) => { byId("said").textContent = text; })));
}

function planList(plans, plan) {
  if (!plans.length) return [element("p", {}, "No plan was seen.")];
  const options = plans.map((one) => element("option",
    { value: one.name, selected: one.name === plan.name ? "" : null }, planTitle(one)));
  const select = element("select", { id: "plan-choice" }, ...options);
  select.addEventListener("change", () => {
    view.plan = select.value;
    draw();
    drawTables();
  });
  return [element("label", { class: "controls" }, "Plan ", select)];
}

// ---- all of it

for (const id of ["resource", "colour"]) byId(id).addEventListener("change", draw);
// To ask for the width at each picture would have the page laid out each time.
new ResizeObserver(([entry]) => {
  view.width = Math.floor(entry.contentRect.width);
  draw();
}).observe(byId("nodes").parentElement);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  picture.readColours();
  draw();
});

function tick() {
  const changed = view.world?.version !== view.ticked;
  if (changed || performance.now() - view.tickedAt > CLOCK_MS) {
    draw();
    view.ticked = view.world?.version;
    view.tickedAt = performance.now();
  }
  const pause = view.tablesDue ? SLIDING_MS : TABLES_MS;
  if (performance.now() - view.tablesAt > pause) drawTables();
  requestAnimationFrame(tick);
}

async function askRights() {
  view.rights = await ask("rights");
}

if (saved) {
  begin(saved.now);
  view.world.prepend(saved.past);
} else {
  listen({
    begin,
    told: (message) => view.world.take(message, view.following),
    before: (past) => view.world.prepend(past),
    away: (text) => { view.away = text; },
  }).catch((error) => { view.away = error.message; byId("away").textContent = error.message; });
  askRights().catch(() => {});
}
tick();
