// The cluster as the stream tells of it: pods by number in typed arrays, and each change.

const STATE = { absent: 0, waiting: 1, bound: 2, leaving: 3 };
const COLUMNS = ["kind", "node", "state", "reason"];
const WIDTH = 2 + COLUMNS.length; // numbers of a change: time, pod, and a number a column
const REPLACED = COLUMNS.length + 1; // numbers that a change replaces: the columns, and since when
const FIRST_ROOM = 1024;

const NODE = { name: 0, zone: 1, cpu: 2, memory: 3, pods: 4, extended: 5, cordoned: 6, ready: 7 };

function modelOf(told) {
  const count = told.names.length;
  const room = Math.max(FIRST_ROOM, count * 2);
  const base = {};
  for (const column of COLUMNS) {
    base[column] = new Int32Array(room);
    base[column].set(told.base[column]);
  }
  const model = {
    cluster: told.cluster, began: told.began, from: told.from, now: told.now,
    kinds: [], reasons: [], names: [], created: [], plans: new Map(),
    baseCount: told.base.kind.length, base, baseNodes: told.nodes, nodeLog: [],
    log: new Float64Array(FIRST_ROOM * WIDTH), logged: 0,
    notice: told.notice, changeable: told.changeable,
    shown: null,
  };
  addNews(model, told);
  model.shown = shownBase(model, room);
  return model;
}

function addNews(model, told) {
  model.now = told.now;
  for (const list of ["kinds", "reasons", "names", "created"]) {
    for (const entry of told[list] ?? []) model[list].push(entry);
  }
  for (const entry of told.node_log ?? []) model.nodeLog.push(entry);
  if (told.log?.length) {
    const end = model.logged * WIDTH;
    model.log = withRoom(model.log, end + told.log.length);
    model.log.set(told.log, end);
    model.logged += told.log.length / WIDTH;
  }
  for (const plan of told.plans ?? []) model.plans.set(plan.uid, plan);
  if (told.notice !== undefined) model.notice = told.notice;
  if (told.changeable !== undefined) model.changeable = told.changeable;
}

function withRoom(array, length) {
  if (array.length >= length) return array;
  const larger = new array.constructor(Math.max(length, array.length * 2));
  larger.set(array);
  return larger;
}

// What is shown begins as the base, and goes on change by change.
function shownBase(model, room) {
  const shown = {
    changes: 0, nodeChanges: 0, time: model.from, pods: model.baseCount,
    since: new Float64Array(room).fill(-1), replaced: new Float64Array(FIRST_ROOM * REPLACED),
    rows: model.baseNodes.slice(), cluster: null,
  };
  for (const column of COLUMNS) {
    shown[column] = new Int32Array(room).fill(column === "node" || column === "reason" ? -1 : 0);
    shown[column].set(model.base[column].subarray(0, model.baseCount));
  }
  return shown;
}

// How many of the changes had happened by then.
function changesUntil(model, time) {
  let [low, high] = [0, model.logged];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (model.log[middle * WIDTH] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Makes `model.shown` what was seen at a time; returns whether other nodes are there.
// Each change keeps what it replaced, so that the way back is as short as the way there.
function showAt(model, time) {
  const target = changesUntil(model, time);
  const { shown } = model;
  const backwards = time < shown.time;
  shown.time = time;
  if (target > shown.changes) goForward(model, target);
  else if (target < shown.changes) goBack(model, target);
  return showNodesAt(model, time, backwards);
}

function goForward(model, target) {
  const { shown, log } = model;
  growShown(shown, model.names.length);
  shown.replaced = withRoom(shown.replaced, target * REPLACED);
  const { kind, node, state, reason, since, replaced } = shown;
  for (let change = shown.changes; change < target; change += 1) {
    const at = change * WIDTH;
    const pod = log[at + 1];
    const keep = change * REPLACED;
    replaced[keep] = kind[pod];
    replaced[keep + 1] = node[pod];
    replaced[keep + 2] = state[pod];
    replaced[keep + 3] = reason[pod];
    replaced[keep + 4] = since[pod];
    if (state[pod] !== log[at + 4] || node[pod] !== log[at + 3]) since[pod] = log[at];
    kind[pod] = log[at + 2];
    node[pod] = log[at + 3];
    state[pod] = log[at + 4];
    reason[pod] = log[at + 5];
  }
  shown.changes = target;
}

function goBack(model, target) {
  const { shown, log } = model;
  const { kind, node, state, reason, since, replaced } = shown;
  for (let change = shown.changes - 1; change >= target; change -= 1) {
    const pod = log[change * WIDTH + 1];
    const keep = change * REPLACED;
    kind[pod] = replaced[keep];
    node[pod] = replaced[keep + 1];
    state[pod] = replaced[keep + 2];
    reason[pod] = replaced[keep + 3];
    since[pod] = replaced[keep + 4];
  }
  shown.changes = target;
}

// Pods that are not there yet are absent: 0 in every column but for these.
function growShown(shown, count) {
  shown.pods = Math.max(shown.pods, count);
  const before = shown.kind.length;
  for (const column of [...COLUMNS, "since"]) shown[column] = withRoom(shown[column], count);
  for (const column of ["node", "reason", "since"]) shown[column].fill(-1, before);
}

function showNodesAt(model, time, backwards) {
  const { shown, nodeLog } = model;
  const again = backwards && nodeLog[shown.nodeChanges - 1]?.[0] > time;
  if (again) {
    shown.rows = model.baseNodes.slice();
    shown.nodeChanges = 0;
  }
  const before = again ? -1 : shown.nodeChanges;
  while (shown.nodeChanges < nodeLog.length && nodeLog[shown.nodeChanges][0] <= time) {
    const [, node, row] = nodeLog[shown.nodeChanges];
    shown.rows[node] = row;
    shown.nodeChanges += 1;
  }
  if (shown.cluster && shown.nodeChanges === before) return false;
  shown.cluster = clusterOf(shown.rows);
  return true;
}

// Nodes column by column, as the scripts that list a node's pods read them.
function clusterOf(rows) {
  const column = (part) => Array.from(rows, (row) => (row ? row[NODE[part]] : 0));
  const cluster = { names: Array.from(rows, (row) => (row ? row[NODE.name] : "")) };
  for (const part of ["cpu", "memory", "pods"]) cluster[part] = column(part);
  for (const resource of extendedOf(rows)) {
    cluster[resource] = Array.from(rows, (row) => row?.[NODE.extended][resource] ?? 0);
  }
  return cluster;
}

function extendedOf(rows) {
  const found = new Set();
  for (const row of rows) {
    if (row) for (const resource of Object.keys(row[NODE.extended])) found.add(resource);
  }
  return [...found].sort();
}

// The pods as the scripts that list a node's pods read them.
function runOf(model) {
  return { names: model.names, kind: model.shown.kind, kinds: model.kinds };
}

// How many pods each node has.
function countedPods(model) {
  const { node, state, pods, rows } = model.shown;
  const counts = new Int32Array(rows.length);
  for (let pod = 0; pod < pods; pod += 1) {
    if (state[pod] >= STATE.bound) counts[node[pod]] += 1;
  }
  return counts;
}

// Pods by node, those of one key together: those of node n are order[starts[n]] to
// order[starts[n + 1] - 1]. Two counting sorts: by key, then by node.
function groupedPods(model, counts, keys) {
  const { shown } = model;
  const nodes = shown.rows.length;
  const starts = new Int32Array(nodes + 1);
  const perKey = new Int32Array(keys.count + 1);
  const { kind, node, state, pods } = shown;
  for (let pod = 0; pod < pods; pod += 1) {
    if (state[pod] >= STATE.bound) perKey[keys.ofKind[kind[pod]] + 1] += 1;
  }
  for (let n = 0; n < nodes; n += 1) starts[n + 1] = starts[n] + counts[n];
  for (let key = 0; key < keys.count; key += 1) perKey[key + 1] += perKey[key];
  const byKey = new Int32Array(starts[nodes]);
  for (let pod = 0; pod < pods; pod += 1) {
    if (state[pod] < STATE.bound) continue;
    const key = keys.ofKind[kind[pod]];
    byKey[perKey[key]] = pod;
    perKey[key] += 1;
  }
  const order = new Int32Array(byKey.length);
  const next = starts.slice(0, nodes);
  for (const pod of byKey) {
    order[next[node[pod]]] = pod;
    next[node[pod]] += 1;
  }
  return { starts, order };
}

function podsOf(grouped, node) {
  return grouped.order.subarray(grouped.starts[node], grouped.starts[node + 1]);
}

// The pods of one node by the order of their keys.
function podsOn(model, node, keys) {
  const { shown } = model;
  const found = [];
  for (let pod = 0; pod < shown.pods; pod += 1) {
    if (shown.node[pod] === node && shown.state[pod] >= STATE.bound) found.push(pod);
  }
  const key = (pod) => keys.ofKind[shown.kind[pod]];
  return found.sort((a, b) => key(a) - key(b) || a - b);
}

// What each kind of pod requests of a resource.
function amountsOf(model, resource) {
  const one = { kind: [0], kinds: [] };
  return Float64Array.from(model.kinds, (kind) => {
    one.kinds[0] = kind;
    return amountOf(one, 0, resource);
  });
}

// Each node's load as a share of what it has.
function loadsOf(model, resource) {
  const { shown } = model;
  const amounts = amountsOf(model, resource);
  const loads = new Float64Array(shown.rows.length);
  for (let pod = 0; pod < shown.pods; pod += 1) {
    if (shown.state[pod] >= STATE.bound) loads[shown.node[pod]] += amounts[shown.kind[pod]];
  }
  const whole = shown.cluster[resource] ?? [];
  return loads.map((load, node) => (whole[node] ? load / whole[node] : 0));
}
