// Nodes on a canvas that is as large as what can be seen of them.

const MOST_ARROWS = 400;
const OVER = 1.0005; // above it a node holds more than it has

// `view`: model, layout, palette, counts, grouped (for bars), keys, resource, loads, chosen (node), drawn (a plan)
function drawMap(canvas, scroll, view) {
  const context = canvas.getContext("2d");
  const ratio = canvas.width / canvas.clientWidth || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  context.translate(0, -scroll);
  const seen = { top: scroll - 2, bottom: scroll + canvas.clientHeight + 2 };
  drawZones(context, view, seen);
  const { layout } = view;
  const drawNode = layout.form === "bars" ? drawBar : drawCell;
  for (const node of layout.order) {
    const top = layout.y[node];
    if (top + layout.size.line < seen.top || top > seen.bottom) continue;
    drawNode(context, view, node);
  }
  if (view.drawn) drawSteps(context, view);
  if (view.chosen >= 0 && layout.y[view.chosen] >= 0) drawChosen(context, view);
}

function drawZones(context, { layout, palette, model }, seen) {
  context.font = "600 13px system-ui, sans-serif";
  context.fillStyle = palette.quiet;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  if (layout.zones.length < 2 && !layout.zones[0]?.name) return;
  for (const zone of layout.zones) {
    if (zone.top > seen.bottom || zone.top + ZONE.title < seen.top) continue;
    const name = zone.name || "no zone";
    context.fillText(`${name}  ·  ${plural(zone.nodes.length, "node")}`, ZONE.left, zone.top + 17);
  }
}

function drawBar(context, view, node) {
  const { layout, palette, model } = view;
  const { width, height } = layout.size;
  const [x, y] = [layout.x[node], layout.y[node]];
  const row = model.shown.rows[node];
  context.fillStyle = palette.empty;
  context.fillRect(x, y, width, height);
  drawStack(context, view, node, x, y);
  if (row[NODE.cordoned] || !row[NODE.ready]) drawHatch(context, palette, x, y, width, height);
  if (layout.size.named) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = palette.quiet;
    context.textAlign = "center";
    context.fillText(shortName(row[NODE.name], width), x + width / 2, y + height + 13);
  }
}

// Pods one by one where there is room for it, else those of one key as one block.
function drawStack(context, view, node, x, y) {
  const { layout, palette, model, keys, amounts } = view;
  const { width, height } = layout.size;
  const whole = model.shown.cluster[view.resource]?.[node] || 0;
  if (!whole) return;
  const scale = height / Math.max(whole, view.loads[node] * whole);
  const pods = podsOf(view.grouped, node);
  const { kind, state } = model.shown;
  let floor = y + height;
  for (const pod of pods) {
    const tall = amounts[kind[pod]] * scale;
    if (!tall) continue;
    const leaving = state[pod] === STATE.leaving;
    context.globalAlpha = leaving ? 0.4 : 1;
    context.fillStyle = seriesColour(palette, keys.ofKind[kind[pod]]);
    context.fillRect(x, floor - tall, width, Math.max(tall - (tall > 3 ? 1 : 0), 0.4));
    floor -= tall;
  }
  context.globalAlpha = 1;
  if (view.loads[node] > OVER) outline(context, palette.bad, x, y, width, height, 2);
}

function drawCell(context, view, node) {
  const { layout, palette, model, loads } = view;
  const { width, height } = layout.size;
  const [x, y] = [layout.x[node], layout.y[node]];
  const row = model.shown.rows[node];
  const used = view.counts[node] > 0;
  context.fillStyle = used ? heatColour(palette, loads[node]) : palette.empty;
  context.fillRect(x, y, width, height);
  if (!used && width > 8) outline(context, palette.rule, x, y, width, height, 1);
  if (row[NODE.cordoned] || !row[NODE.ready]) drawHatch(context, palette, x, y, width, height);
  if (loads[node] > OVER) outline(context, palette.bad, x, y, width, height, 2);
}

// Cordoned and not ready: not by colour alone.
function drawHatch(context, palette, x, y, width, height) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = palette.ink;
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = -height; at < width; at += 7) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}

function outline(context, colour, x, y, width, height, line) {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
}

function drawChosen(context, { layout, palette, chosen }) {
  const { width, height } = layout.size;
  const [x, y] = [layout.x[chosen], layout.y[chosen]];
  outline(context, palette.paper, x - 4, y - 4, width + 8, height + 8, 2);
  outline(context, palette.accent, x - 3, y - 3, width + 6, height + 6, 3);
}

// What a plan does: an arrow a move, a mark where a pod arrives or is left without a node.
function drawSteps(context, { layout, palette, model, drawn }) {
  const places = new Map();
  for (const node of layout.order) places.set(model.shown.rows[node][NODE.name], node);
  const middle = (name, share) => {
    const node = places.get(name);
    if (node === undefined) return null;
    const { width, height } = layout.size;
    return [layout.x[node] + width / 2, layout.y[node] + height * share];
  };
  for (const [what, , from, to, state] of drawn.steps.slice(0, MOST_ARROWS)) {
    const colour = state === "Bound" ? palette.good : what === "evict" ? palette.bad : palette.ink;
    const [begin, end] = [middle(from, 0.5), middle(to, 0.35)];
    if (what === "move" && begin && end) drawArrow(context, palette.paper, colour, begin, end);
    else if (what === "place" && end) drawArrival(context, palette.paper, colour, end);
    else if (what === "evict" && begin) drawCross(context, palette.paper, colour, begin);
  }
}

function drawArrow(context, halo, colour, [x1, y1], [x2, y2]) {
  const lift = Math.min(60, 18 + Math.hypot(x2 - x1, y2 - y1) / 5);
  const [cx, cy] = [(x1 + x2) / 2, Math.min(y1, y2) - lift];
  const angle = Math.atan2(y2 - cy, x2 - cx);
  const path = () => {
    context.beginPath();
    context.moveTo(x1, y1);
    context.quadraticCurveTo(cx, cy, x2, y2);
    for (const side of [2.6, -2.6]) {
      context.moveTo(x2, y2);
      context.lineTo(x2 + 9 * Math.cos(angle + side), y2 + 9 * Math.sin(angle + side));
    }
    context.stroke();
  };
  strokeTwice(context, halo, colour, path);
}

function drawArrival(context, halo, colour, [x, y]) {
  strokeTwice(context, halo, colour, () => {
    context.beginPath();
    context.moveTo(x, y - 16);
    context.lineTo(x, y);
    context.moveTo(x - 5, y - 6);
    context.lineTo(x, y);
    context.lineTo(x + 5, y - 6);
    context.stroke();
  });
}

function drawCross(context, halo, colour, [x, y]) {
  strokeTwice(context, halo, colour, () => {
    context.beginPath();
    context.moveTo(x - 5, y - 5);
    context.lineTo(x + 5, y + 5);
    context.moveTo(x + 5, y - 5);
    context.lineTo(x - 5, y + 5);
    context.stroke();
  });
}

// With a rim, so that it can be seen on any colour.
function strokeTwice(context, halo, colour, draw) {
  context.save();
  context.lineCap = "round";
  context.strokeStyle = halo;
  context.lineWidth = 5;
  draw();
  context.strokeStyle = colour;
  context.lineWidth = 2;
  draw();
  context.restore();
}
