// One arm's nodes as stacked bars.

const BAR_HEIGHT = 190;
const BAR_MARGIN = { left: 52, right: 6, top: 8, bottom: 24 };
const FINEST_PX = 2; // a pod that is lower than this is not drawn by itself
const NAME_PX = 72; // what a name needs below its bar

// Draws the frame and returns a function that fills it for a moment. `panel` holds:
//   run, cluster, bars, resource, top (of the scale), keyOf, title, choose(bar index)
function barPanel(container, panel) {
  const width = Math.max(container.clientWidth, 320);
  const floor = BAR_HEIGHT - BAR_MARGIN.bottom;
  const scale = linearScale(0, panel.top, floor, BAR_MARGIN.top);
  const pitch = (width - BAR_MARGIN.left - BAR_MARGIN.right) / panel.bars.length;
  const heading = element("h3");
  const root = shape("svg", {
    viewBox: `0 0 ${width} ${BAR_HEIGHT}`, role: "group", class: "bars",
    "aria-label": `Nodes of ${panel.title}; arrow keys go from one to the next`,
  });
  root.append(barGrid(panel, scale, width));
  const slots = panel.bars.map((bar, index) => {
    const left = BAR_MARGIN.left + index * pitch;
    const slot = barSlot(panel, index, left, pitch);
    root.append(slot.group);
    return slot;
  });
  walkAlong(slots, panel.choose);
  container.replaceChildren(heading, root);
  return (time, chosen) => {
    const moment = momentOf(panel.run, panel.cluster, time, panel.keyOf);
    heading.textContent =
      `${panel.title}: ${moment.placed.toLocaleString("en")} placed, ` +
      `${moment.waiting.toLocaleString("en")} waiting`;
    slots.forEach((slot, index) => fillSlot(slot, panel, moment, index === chosen, scale));
    return moment;
  };
}

function barGrid(panel, scale, width) {
  const grid = shape("g", { class: "grid", "aria-hidden": "true" });
  for (const tick of scale.ticks.filter((_, index) => index % 2 === 0)) {
    const y = scale.place(tick);
    grid.append(
      shape("line", { x1: BAR_MARGIN.left, x2: width - BAR_MARGIN.right, y1: y, y2: y }),
      shape("text", { x: BAR_MARGIN.left - 6, y: y + 4, "text-anchor": "end" },
        loadText(tick, panel.resource)),
    );
  }
  return grid;
}

function barSlot(panel, index, left, pitch) {
  const { bars } = panel;
  const gap = Math.min(6, pitch * 0.15);
  const floor = BAR_HEIGHT - BAR_MARGIN.bottom;
  const label = shape("title");
  const area = shape("rect", {
    x: left, y: BAR_MARGIN.top, width: pitch, height: floor - BAR_MARGIN.top + 2, class: "area",
  });
  const stack = shape("g");
  const group = shape("g", {
    class: "bar", role: "button", tabindex: index ? -1 : 0, "data-bar": index,
  }, label, area, stack);
  const every = Math.ceil(NAME_PX / pitch);
  if (index % every === 0 && (index + every <= bars.length || every === 1)) {
    const middle = every === 1;
    group.append(shape("text", {
      x: left + (middle ? pitch / 2 : 0), y: BAR_HEIGHT - 8, class: "name",
      "text-anchor": middle ? "middle" : "start",
    }, shortName(bars[index].first, pitch * every)));
  }
  return { group, stack, label, x: left + gap / 2, width: pitch - gap };
}

// Names are distinguished by their ends.
function shortName(name, width) {
  const most = Math.max(3, Math.floor(width / 7.5));
  return name.length > most ? `…${name.slice(1 - most)}` : name;
}

function walkAlong(slots, choose) {
  const go = (index) => {
    slots.forEach((slot, other) => slot.group.setAttribute("tabindex", other === index ? 0 : -1));
    slots[index].group.focus();
    choose(index);
  };
  slots.forEach((slot, index) => {
    slot.group.addEventListener("click", () => go(index));
    slot.group.addEventListener("keydown", (event) => {
      const to = {
        ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: slots.length - 1,
        Enter: index, " ": index,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(Math.min(Math.max(to, 0), slots.length - 1));
    });
  });
}

function fillSlot(slot, panel, moment, chosen, scale) {
  const { run, cluster, resource } = panel;
  const { name, nodes } = panel.bars[Number(slot.group.dataset.bar)];
  const loads = nodes.map((node) => loadOf(run, cluster, node, moment.nodes[node], resource));
  const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length;
  const pods = nodes.reduce((sum, node) => sum + moment.nodes[node].length, 0);
  const share = resource === "pods" ? "" : `, ${resource} ${loadText(mean, resource)}`;
  const said = `${name}: ${plural(pods, "pod")}${share}`;
  slot.group.setAttribute("aria-label", said);
  slot.label.textContent = said;
  slot.group.setAttribute("aria-pressed", chosen);
  slot.stack.replaceChildren(...segments(slot, panel, moment, nodes, scale));
  if (nodes.length > 1) slot.stack.append(...whisker(slot, loads, scale));
}

// Pods one by one where there is room for it, else those of one key as one block.
function segments(slot, panel, moment, nodes, scale) {
  const { run, cluster, resource, keyOf } = panel;
  const floor = scale.place(0);
  const heights = new Map();
  for (const node of nodes) {
    const whole = wholeOf(cluster, node, resource) * nodes.length;
    for (const pod of moment.nodes[node]) {
      const key = keyOf(run.kinds[run.kind[pod]]);
      const height = floor - scale.place(amountOf(run, pod, resource) / whole);
      if (!heights.has(key)) heights.set(key, []);
      heights.get(key).push(height);
    }
  }
  const made = [];
  let y = floor;
  for (const key of [...heights.keys()].sort((a, b) => a - b)) {
    const parts = heights.get(key);
    const sum = parts.reduce((total, part) => total + part, 0);
    const fine = nodes.length === 1 && sum / parts.length >= FINEST_PX;
    for (const height of fine ? parts : [sum]) {
      y -= height;
      made.push(shape("rect", {
        x: slot.x.toFixed(2), y: y.toFixed(2), width: slot.width.toFixed(2),
        height: Math.max(height - (fine ? 0.6 : 0), 0.1).toFixed(2), class: `fill-${series(key)}`,
      }));
    }
  }
  return made;
}

// From the least to the most loaded node of a group.
function whisker(slot, loads, scale) {
  const [low, high] = [Math.min(...loads), Math.max(...loads)].map(scale.place);
  if (low === high) return [];
  const x = slot.x + slot.width / 2;
  return [
    shape("line", { x1: x, x2: x, y1: low, y2: high, class: "whisker" }),
    ...[low, high].map((y) => shape("line", {
      x1: x - 2, x2: x + 2, y1: y, y2: y, class: "whisker",
    })),
  ];
}

// Keys that pods are coloured by, the same in all of the runs.
function keysOf(runs, colour) {
  const counts = new Map();
  for (const run of runs) {
    for (const kind of run.kind) {
      const key = run.kinds[kind][KIND[colour]];
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  const keys = [...counts.keys()];
  return colour === "priority"
    ? keys.sort((a, b) => b - a)
    : keys.sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
}

function drawKeys(keys) {
  const list = element("ul", { class: "legend" });
  keys.slice(0, SERIES).forEach((key, index) => {
    list.append(element("li", {}, element("span", { class: `swatch fill-${series(index)}` }),
      String(key)));
  });
  if (keys.length > SERIES) {
    list.append(element("li", {}, element("span", { class: "swatch fill-series-other" }),
      `${keys.length - SERIES} others`));
  }
  byId("keys").replaceChildren(list);
}
