// Nodes as bars that fill with pods, or as cells of a map, and plans above them.

const HEATS = 9;
const FINE_PX = 3; // a pod that is lower than this is not drawn by itself
const MOST_CURVES = 400;
const MANY_MOVES = 30; // of more, those of the chosen node stand out
const FONT = 'system-ui, "DejaVu Sans", sans-serif';

// Arrays that are used again for each picture: to make them anew would wake the collector
// of garbage in the middle of sliding.
const scratch = new Map();

function reused(name, Kind, length) {
  if ((scratch.get(name)?.length ?? -1) < length) scratch.set(name, new Kind(length + (length >> 2)));
  return scratch.get(name).subarray(0, length).fill(0);
}

// Pods with a node in the order of nodes and, on each, of keys; and how full nodes are.
function momentNow(world, resource, keyOfKind) {
  const { values, length } = world.pods;
  // A pod may have a node that has not been seen yet.
  const nodes = world.cluster.names.length;
  const amounts = Float64Array.from(world.run.kinds, (kind) => kind[KIND.requests][resource] ?? 0);
  const first = reused("first", Int32Array, nodes + 1);
  const load = reused("load", Float64Array, nodes);
  const ofKey = reused("ofKey", Int32Array, SERIES + 2);
  let [placed, waiting] = [0, 0];
  for (let at = 0; at < length; at += POD) {
    const phase = values[at + 2];
    if (phase === PHASE.gone) continue;
    if (phase === PHASE.waiting) {
      waiting += 1;
      continue;
    }
    placed += 1;
    first[values[at + 1] + 1] += 1;
    load[values[at + 1]] += amounts[values[at]];
    ofKey[Math.min(keyOfKind[values[at]], SERIES) + 1] += 1;
  }
  for (let node = 0; node < nodes; node += 1) first[node + 1] += first[node];
  for (let key = 0; key <= SERIES; key += 1) ofKey[key + 1] += ofKey[key];
  // Sorted by key, and that by node, which leaves those of one node in the order of keys.
  const byKey = reused("byKey", Int32Array, placed);
  for (let at = 0; at < length; at += POD) {
    if (values[at + 2] < PHASE.placed) continue;
    const key = Math.min(keyOfKind[values[at]], SERIES);
    byKey[ofKey[key]] = at / POD;
    ofKey[key] += 1;
  }
  const next = reused("next", Int32Array, nodes + 1);
  next.set(first);
  const pods = reused("pods", Int32Array, placed);
  for (let index = 0; index < placed; index += 1) {
    const row = byKey[index];
    const node = values[row * POD + 1];
    pods[next[node]] = row;
    next[node] += 1;
  }
  return { first, pods, load, amounts, placed, waiting };
}

function podsOn(moment, node) {
  return [...moment.pods.subarray(moment.first[node], moment.first[node + 1])];
}

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colours = {
      ...Object.fromEntries(["paper", "raised", "ink", "quiet", "rule", "accent", "bad"].map(
        (name) => [name, colour(name)])),
      series: [...Array.from({ length: SERIES }, (_, n) => colour(`series-${n}`)), colour("series-other")],
      heat: Array.from({ length: HEATS }, (_, n) => colour(`heat-${n}`)),
    };
  }

  // `view`: places, moment, world, resource, keyOfKind, chosen, plan
  draw(view, width) {
    const { places } = view;
    const ratio = window.devicePixelRatio || 1;
    const { canvas, context } = this;
    const [across, down] = [Math.round(width * ratio), Math.round(places.height * ratio)];
    if (canvas.width !== across || canvas.height !== down) {
      [canvas.width, canvas.height] = [across, down];
      canvas.style.height = `${places.height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, places.height);
    context.font = `13px ${FONT}`;
    context.fillStyle = this.colours.quiet;
    view.moved = movedRows(view);
    for (const { text, y } of places.titles) context.fillText(text, 0, y);
    for (const node of places.order) {
      if (places.heat) this.drawCell(view, node);
      else this.drawBar(view, node);
    }
    if (view.plan) this.drawPlan(view);
    this.drawChosen(view);
  }

  drawCell({ places, moment, world, resource }, node) {
    const box = places.box.get(node);
    const has = roomOf(world, node, resource);
    const { context, colours } = this;
    const share = has ? moment.load[node] / has : 0;
    context.fillStyle = has ? colours.heat[heatOf(share)] : colours.raised;
    context.fillRect(box.x, box.y, box.width, box.height);
    if (notesOf(world, node).length) {
      context.strokeStyle = colours.bad;
      context.lineWidth = 1;
      context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
    }
  }

  drawBar(view, node) {
    const { places, moment, world, resource } = view;
    const box = places.box.get(node);
    const { context, colours } = this;
    const has = roomOf(world, node, resource);
    const marked = notesOf(world, node).length > 0;
    context.fillStyle = colours.raised;
    context.fillRect(box.x, box.y, box.width, box.height);
    if (has) this.fillBar(box, view, node, box.height / has);
    context.setLineDash(marked ? [4, 3] : []);
    context.strokeStyle = marked ? colours.bad : colours.rule;
    context.lineWidth = marked ? 2 : 1;
    context.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
    context.setLineDash([]);
    if (!places.size.named) return;
    context.fillStyle = colours.quiet;
    context.font = `11px ${FONT}`;
    context.textAlign = "center";
    context.fillText(shortName(world.cluster.names[node], box.width + 2),
      box.x + box.width / 2, box.y + box.height + 12);
    context.textAlign = "start";
  }

  // Pods one by one where there is room for it, else those of one key as one block.
  fillBar(box, { moment, world, keyOfKind, moved }, node, scale) {
    const { context, colours } = this;
    const { values } = world.pods;
    let y = box.y + box.height;
    let [block, key] = [0, -1];
    const paint = (height, gap) => {
      const top = Math.max(y - height, box.y);
      if (y > top) context.fillRect(box.x + 1, top, box.width - 2, Math.max(y - top - gap, 0.5));
      y -= height;
    };
    const end = () => {
      if (block) paint(block, 0);
      block = 0;
    };
    for (let at = moment.first[node]; at < moment.first[node + 1]; at += 1) {
      const row = moment.pods[at];
      const kind = values[row * POD];
      const series = Math.min(keyOfKind[kind], SERIES);
      const height = moment.amounts[kind] * scale;
      const ending = values[row * POD + 2] === PHASE.ending;
      const alone = height >= FINE_PX || ending || moved.has(row);
      if (series !== key || alone) {
        end();
        key = series;
        context.fillStyle = colours.series[series];
      }
      if (moved.has(row)) moved.set(row, Math.max(y - height / 2, box.y));
      if (alone) {
        context.globalAlpha = ending ? 0.4 : 1;
        paint(height, 1);
        context.globalAlpha = 1;
      } else block += height;
    }
    end();
    if (y < box.y - 0.5) {
      context.fillStyle = colours.bad;
      context.fillRect(box.x, box.y, box.width, 3);
    }
  }

  // Moves as curves from bar to bar, arrivals as arrows from above, evictions as crosses.
  drawPlan({ places, world, plan, moved, chosen }) {
    const { context, colours } = this;
    const many = plan.moves.length > MANY_MOVES;
    const mark = Math.min(5, places.size.width / 3);
    const nameOfChosen = chosen === null ? null : world.cluster.names[chosen];
    const rowOf = world.nodeRows();
    const boxOf = (name) => places.box.get(rowOf.get(name));
    const rows = podRows(world, plan);
    for (const [pod, from, to, state] of plan.moves.slice(0, MOST_CURVES)) {
      const [a, b] = [boxOf(from), boxOf(to)];
      if (!a || !b) continue;
      const y = moved.get(rows.get(pod)) ?? a.y + a.height / 2;
      this.drawMove([a.x + a.width / 2, y], [b.x + b.width / 2, b.y + Math.min(16, b.height / 2)],
        state === "Bound" || state === "NotNeeded", many && from !== nameOfChosen && to !== nameOfChosen);
    }
    for (const [, name] of plan.placements) {
      const box = boxOf(name);
      if (!box) continue;
      const [x, y] = [box.x + box.width / 2, box.y + 2];
      context.fillStyle = colours.ink;
      context.beginPath();
      context.moveTo(x, y + 2 * mark);
      context.lineTo(x - mark, y);
      context.lineTo(x + mark, y);
      context.fill();
    }
    context.strokeStyle = colours.bad;
    for (const [, name] of plan.evictions) {
      const box = boxOf(name);
      if (!box) continue;
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      context.beginPath();
      context.moveTo(x - mark, y - mark);
      context.lineTo(x + mark, y + mark);
      context.moveTo(x + mark, y - mark);
      context.lineTo(x - mark, y + mark);
      context.stroke();
    }
  }

  drawMove([x, y], [toX, toY], done, faint) {
    const { context, colours } = this;
    // It bows to its left, so that there and back are two curves.
    const bow = Math.min(50, 12 + Math.hypot(toX - x, toY - y) / 5);
    const length = Math.hypot(toX - x, toY - y) || 1;
    const [midX, midY] = [
      (x + toX) / 2 + ((toY - y) / length) * bow, (y + toY) / 2 - ((toX - x) / length) * bow,
    ];
    const draw = (colour, width) => {
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = width;
      context.setLineDash(done ? [3, 4] : []);
      context.beginPath();
      context.moveTo(x, y);
      context.quadraticCurveTo(midX, midY, toX, toY);
      context.stroke();
      context.setLineDash([]);
      const angle = Math.atan2(toY - midY, toX - midX);
      context.beginPath();
      context.moveTo(toX + 2 * Math.cos(angle), toY + 2 * Math.sin(angle));
      for (const turn of [2.6, -2.6]) {
        context.lineTo(toX + 8 * Math.cos(angle + turn), toY + 8 * Math.sin(angle + turn));
      }
      context.fill();
    };
    if (faint) {
      context.globalAlpha = 0.45;
      draw(colours.ink, 0.75);
      context.globalAlpha = 1;
      return;
    }
    // An edge in the colour of the paper lifts the curve off the pods.
    draw(colours.paper, 4);
    draw(colours.ink, 1.5);
    context.fillStyle = colours.paper;
    context.beginPath();
    context.arc(x, y, 3.5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  drawChosen({ places, chosen }) {
    const box = places.box.get(chosen);
    if (!box) return;
    this.context.strokeStyle = this.colours.accent;
    this.context.lineWidth = 3;
    this.context.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
  }
}

// Rows of the pods that a plan moves, by their names.
const plannedRows = new WeakMap();

function podRows(world, plan) {
  const { names } = world.run;
  const known = plannedRows.get(plan);
  if (known?.names === names && known.count === names.length) return known.rows;
  const moved = new Set(plan.moves.map(([pod]) => pod));
  const rows = new Map();
  names.forEach((name, row) => { if (moved.has(name)) rows.set(name, row); });
  plannedRows.set(plan, { names, count: names.length, rows });
  return rows;
}

// The pods that the plan moves and that are still where they were, for their places.
function movedRows({ world, plan }) {
  const moved = new Map();
  if (!plan) return moved;
  for (const row of podRows(world, plan).values()) moved.set(row, undefined);
  return moved;
}

function heatOf(share) {
  return Math.min(HEATS - 1, Math.max(0, Math.floor(share * (HEATS - 1) + 1e-9)));
}

// What a node has of a resource, of which there may be none in the cluster yet.
function roomOf(world, node, resource) {
  return world.cluster.amounts[resource]?.[node] ?? 0;
}

function notesOf(world, node) {
  return world.nodeKinds[world.nodes.values[node]]?.[1] ?? [];
}

// What is wrong with its devices, which keeps no pod away that needs none.
function devicesOf(world, node) {
  return [world.nodeKinds[world.nodes.values[node]]?.[3] ?? ""].filter((words) => words);
}
