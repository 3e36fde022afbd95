// Where each node is drawn: a row of lines for each zone, the zones below each other.

const HEAT_FROM = 500; // nodes; with more they are cells of a map
const ZONE_PX = 22; // what the name of a zone takes
const BAR = { least: 10, most: 112, height: 120, gap: 6, name: 18 };
const CELL = { least: 8, most: 18, gap: 2, lines: 40 };

// Nodes that are there by zone, and the box of each.
function placesOf(world, width) {
  const zones = new Map();
  const { values, length } = world.nodes;
  for (let node = 0; node < length; node += 1) {
    if (values[node] < 0) continue;
    const zone = world.nodeKinds[values[node]][0];
    if (!zones.has(zone)) zones.set(zone, []);
    zones.get(zone).push(node);
  }
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const { names } = world.cluster;
  const rows = [...zones].sort(([a], [b]) => order(a, b));
  for (const [, nodes] of rows) nodes.sort((a, b) => order(names[a], names[b]));
  const count = rows.reduce((sum, [, nodes]) => sum + nodes.length, 0);
  const heat = count >= HEAT_FROM;
  return { heat, count, ...boxes(rows, width, heat ? cellFor(count, width) : barFor(rows, width)) };
}

function cellFor(count, width) {
  const fitting = Math.sqrt((width * CELL.lines * CELL.least) / count);
  const size = Math.floor(Math.min(Math.max(fitting, CELL.least), CELL.most));
  return { width: size, height: size, gap: CELL.gap, below: CELL.gap, named: false };
}

function barFor(rows, width) {
  const longest = Math.max(1, ...rows.map(([, nodes]) => nodes.length));
  const pitch = Math.min(Math.max(width / longest, BAR.least), BAR.most);
  const named = pitch >= 36;
  const size = Math.floor(pitch) - BAR.gap;
  return { width: size, height: BAR.height, gap: BAR.gap, below: named ? BAR.name : BAR.gap, named };
}

function boxes(rows, width, size) {
  const perLine = Math.max(1, Math.floor((width + size.gap) / (size.width + size.gap)));
  const places = { order: [], box: new Map(), titles: [], perLine, size, height: 0 };
  let y = 0;
  for (const [zone, nodes] of rows) {
    if (zone || rows.length > 1) {
      places.titles.push({ text: `${zone || "no zone"}: ${plural(nodes.length, "node")}`, y: y + 15 });
      y += ZONE_PX;
    }
    nodes.forEach((node, index) => {
      const line = Math.floor(index / perLine);
      places.order.push(node);
      places.box.set(node, {
        x: (index % perLine) * (size.width + size.gap),
        y: y + line * (size.height + size.below),
        width: size.width, height: size.height,
      });
    });
    y += Math.ceil(nodes.length / perLine) * (size.height + size.below) + 8;
  }
  places.height = Math.max(y, 40);
  return places;
}

function nodeAt(places, x, y) {
  for (const [node, box] of places.box) {
    if (x >= box.x - 2 && x < box.x + box.width + 2 && y >= box.y - 1
      && y < box.y + box.height + 2) return node;
  }
  return null;
}

// The nearest node in a direction.
function nodeBeside(places, node, key) {
  const { order, box, perLine } = places;
  const at = order.indexOf(node);
  if (at < 0) return order[0] ?? null;
  if (key === "Home") return order[0];
  if (key === "End") return order.at(-1);
  if (key === "ArrowLeft") return order[Math.max(at - 1, 0)];
  if (key === "ArrowRight") return order[Math.min(at + 1, order.length - 1)];
  const here = box.get(node);
  const down = key === "ArrowDown";
  let best = node;
  for (let step = 1; step <= 2 * perLine; step += 1) {
    const other = order[at + (down ? step : -step)];
    if (other === undefined) break;
    const there = box.get(other);
    if (there.y === here.y) continue;
    if (best !== node && there.y !== box.get(best).y) break;
    if (best === node || Math.abs(there.x - here.x) < Math.abs(box.get(best).x - here.x)) best = other;
  }
  return best;
}
