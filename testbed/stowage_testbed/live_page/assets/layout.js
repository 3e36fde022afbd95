// Where each node is drawn: zones below one another, their nodes side by side.

const MOST_NODES_AS_BARS = 240;
const BAR = { least: 15, most: 120, gap: 5, height: 132, low: 84, name: 16, namedFrom: 52 };
const CELL = { sizes: [22, 18, 15, 12, 10, 8, 6], gap: 1, most: 560 };
const PAGE_LINES = 10;
const ZONE = { title: 26, below: 10, left: 4 };

const NATURAL = new Intl.Collator("en", { numeric: true });

function layoutOf(model, width, wanted) {
  const zones = zonesOf(model.shown.rows);
  const count = zones.reduce((sum, zone) => sum + zone.nodes.length, 0);
  const form = wanted !== "auto" ? wanted : count <= MOST_NODES_AS_BARS ? "bars" : "heat";
  const room = Math.max(width - 2 * ZONE.left, 100);
  const size = form === "bars" ? barSize(zones, room) : cellSize(zones, room);
  const nodes = model.shown.rows.length;
  const layout = {
    form, zones, width, size, x: new Float32Array(nodes), y: new Float32Array(nodes).fill(-1),
    order: zones.flatMap((zone) => zone.nodes), height: 0,
  };
  let top = 0;
  for (const zone of zones) {
    zone.top = top;
    top += ZONE.title;
    const columns = Math.max(1, Math.floor(room / size.pitch));
    zone.nodes.forEach((node, place) => {
      layout.x[node] = ZONE.left + (place % columns) * size.pitch;
      layout.y[node] = top + Math.floor(place / columns) * size.line;
    });
    top += Math.ceil(zone.nodes.length / columns) * size.line + ZONE.below;
  }
  layout.height = top;
  return layout;
}

function zonesOf(rows) {
  const zones = new Map();
  rows.forEach((row, node) => {
    if (!row) return;
    const name = row[NODE.zone];
    if (!zones.has(name)) zones.set(name, []);
    zones.get(name).push(node);
  });
  return [...zones.keys()].sort(NATURAL.compare).map((name) => ({
    name,
    nodes: zones.get(name).sort((a, b) => NATURAL.compare(rows[a][NODE.name], rows[b][NODE.name])),
  }));
}

function barSize(zones, room) {
  const longest = Math.max(1, ...zones.map((zone) => zone.nodes.length));
  const pitch = Math.min(BAR.most, Math.max(BAR.least, Math.floor(room / longest)));
  const lines = linesOf(zones, room, pitch);
  const named = pitch >= BAR.namedFrom;
  const height = lines > 4 ? BAR.low : BAR.height;
  return {
    pitch, width: pitch - BAR.gap, height, named,
    line: height + (named ? BAR.name : 0) + 2 * BAR.gap,
  };
}

function cellSize(zones, room) {
  const fits = (size) => linesOf(zones, room, size) * size + zones.length * ZONE.title <= CELL.most;
  const pitch = CELL.sizes.find(fits) ?? CELL.sizes.at(-1);
  const width = pitch - CELL.gap;
  return { pitch, width, height: width, line: pitch, named: false };
}

function linesOf(zones, room, pitch) {
  const columns = Math.max(1, Math.floor(room / pitch));
  return zones.reduce((sum, zone) => sum + Math.ceil(zone.nodes.length / columns), 0);
}

// The node at a point of the drawing, -1 for none.
function nodeAt(layout, x, y) {
  const { size } = layout;
  for (const node of layout.order) {
    const [left, top] = [layout.x[node], layout.y[node]];
    if (x >= left && x < left + size.width && y >= top && y < top + size.height) return node;
  }
  return -1;
}

// The node that a key leads to: along the order, or to the nearest of the line above or below.
function nextNode(layout, node, key) {
  const { order } = layout;
  const place = order.indexOf(node);
  if (place < 0 || key === "Home") return order[0] ?? -1;
  if (key === "End") return order.at(-1);
  if (key === "ArrowLeft") return order[Math.max(place - 1, 0)];
  if (key === "ArrowRight") return order[Math.min(place + 1, order.length - 1)];
  const lines = key.startsWith("Page") ? PAGE_LINES : 1;
  let found = node;
  for (let line = 0; line < lines; line += 1) found = onNextLine(layout, found, key.endsWith("Down") ? 1 : -1);
  return found;
}

function onNextLine({ order, x, y }, node, direction) {
  let best = node;
  for (const other of order) {
    const away = (y[other] - y[node]) * direction;
    if (away <= 0) continue;
    const nearer = (y[best] - y[other]) * direction;
    const same = nearer === 0 && Math.abs(x[other] - x[node]) < Math.abs(x[best] - x[node]);
    if (best === node || nearer > 0 || same) best = other;
  }
  return best;
}
