// What is where: now, and at every moment that was seen. Rows are numbers in arrays, and
// a change knows what was before it, so that time runs backwards as it runs forwards.

const PHASE = { gone: 0, waiting: 1, placed: 2, ending: 3 };
const NO_POD = [-1, -1, PHASE.gone, -1];
const POD = 4; // columns: kind, node, phase, why
const POD_ENTRY = 2 + 2 * POD; // time, row, columns after, columns before
const NODE_ENTRY = 4; // time, row, kind after, kind before
const MOST_ENTRIES = 300000; // fewer than the server keeps
const MOST_VERSIONS = 100; // of one plan

// Whole numbers in an array that grows.
class Numbers {
  constructor(values = new Int32Array(0)) {
    this.values = values;
    this.length = values.length;
  }

  reserve(length, empty = [0]) {
    if (length > this.values.length) {
      const larger = new Int32Array(Math.max(length, 2 * this.values.length, 1024));
      larger.set(this.values.subarray(0, this.length));
      this.values = larger;
    }
    for (; this.length < length; this.length += 1) {
      this.values[this.length] = empty[this.length % empty.length];
    }
  }

  push(...values) {
    const at = this.length;
    this.reserve(at + values.length);
    this.values.set(values, at);
  }

  dropFirst(count) {
    this.values.copyWithin(0, count, this.length);
    this.length -= count;
  }
}

function unpacked(text) {
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return new Int32Array(bytes.buffer);
}

class World {
  constructor(now) {
    this.run = { names: now.podNames, kinds: now.podKinds, kind: [], node: [] };
    this.cluster = { names: now.nodeNames, resources: [], amounts: { pods: [] } };
    this.nodeKinds = now.nodeKinds;
    this.whys = now.whys;
    this.lost = now.lost;
    this.latest = new Numbers(unpacked(now.pods));
    this.pods = new Numbers(this.latest.values.slice());
    this.latestNodes = new Numbers(unpacked(now.nodes));
    this.nodes = new Numbers(this.latestNodes.values.slice());
    this.podLog = new Numbers();
    this.nodeLog = new Numbers();
    this.plans = new Map(now.plans.map(([name, plan]) => [name, [[now.t, plan]]]));
    this.since = now.t;
    this.end = now.t;
    this.at = [0, 0]; // what of the logs has been applied
    this.version = 0;
    this.nodesVersion = 0;
    for (let row = 0; row < this.nodes.length; row += 1) this.fit(row);
  }

  // Takes a message of the server; what is shown stays at its moment unless it follows.
  take(message, follows) {
    this.cluster.names.push(...(message.nodeNames ?? []));
    this.nodeKinds.push(...(message.nodeKinds ?? []));
    this.run.kinds.push(...(message.podKinds ?? []));
    this.whys.push(...(message.whys ?? []));
    for (const [row, name] of message.names ?? []) this.run.names[row] = name;
    const nodes = message.nodes ?? [];
    for (let at = 0; at < nodes.length; at += 2) {
      this.logNode(message.t, nodes[at], nodes[at + 1]);
    }
    const pods = message.pods ?? [];
    for (let at = 0; at < pods.length; at += 1 + POD) {
      logPod(this.podLog, this.latest, message.t, pods, at);
    }
    for (const [name, plan] of message.plans ?? []) {
      if (!this.plans.has(name)) this.plans.set(name, []);
      const versions = this.plans.get(name);
      versions.push([message.t, plan]);
      if (versions.length > MOST_VERSIONS) versions.shift();
    }
    this.lost = message.lost;
    this.end = Math.max(this.end, message.t);
    this.forget();
    if (follows) this.seek(Infinity);
  }

  // Puts what was seen before this page was opened in front of what it saw itself.
  prepend(past) {
    const state = new Numbers(unpacked(past.pods));
    const seen = unpacked(past.podLog);
    const log = new Numbers(new Int32Array((seen.length / (2 + POD)) * POD_ENTRY));
    log.length = 0;
    for (let at = 0; at < seen.length; at += 2 + POD) logPod(log, state, seen[at], seen, at + 1);
    const nodes = new Numbers(unpacked(past.nodes));
    const seenNodes = unpacked(past.nodeLog);
    const nodeLog = new Numbers();
    for (let at = 0; at < seenNodes.length; at += 3) {
      const [time, row, kind] = seenNodes.subarray(at, at + 3);
      nodes.reserve(row + 1, [-1]);
      nodeLog.push(time, row, kind, nodes.values[row]);
      nodes.values[row] = kind;
    }
    this.at = [this.at[0] + nodeLog.length / NODE_ENTRY, this.at[1] + log.length / POD_ENTRY];
    this.nodeLog = joined(nodeLog, this.nodeLog);
    this.podLog = joined(log, this.podLog);
    const plans = new Map();
    for (const [time, name, plan] of past.plans) {
      if (!plans.has(name)) plans.set(name, []);
      plans.get(name).push([time, plan]);
    }
    for (const [name, versions] of this.plans) {
      const known = plans.get(name) ?? [];
      const last = known.at(-1)?.[0] ?? -1;
      plans.set(name, [...known, ...versions.filter(([time]) => !known.length || time > last)]);
    }
    this.plans = plans;
    this.since = past.since;
  }

  // Shows what was at a moment.
  seek(time) {
    const { values: log, length } = this.podLog;
    const { values: nodeLog, length: nodeLength } = this.nodeLog;
    let [node, pod] = this.at;
    const before = this.at;
    while (pod * POD_ENTRY < length && log[pod * POD_ENTRY] <= time) {
      this.putPod(log, pod * POD_ENTRY, 2);
      pod += 1;
    }
    while (pod > 0 && log[(pod - 1) * POD_ENTRY] > time) {
      pod -= 1;
      this.putPod(log, pod * POD_ENTRY, 2 + POD);
    }
    while (node * NODE_ENTRY < nodeLength && nodeLog[node * NODE_ENTRY] <= time) {
      this.putNode(nodeLog[node * NODE_ENTRY + 1], nodeLog[node * NODE_ENTRY + 2]);
      node += 1;
    }
    while (node > 0 && nodeLog[(node - 1) * NODE_ENTRY] > time) {
      node -= 1;
      this.putNode(nodeLog[node * NODE_ENTRY + 1], nodeLog[node * NODE_ENTRY + 3]);
    }
    this.at = [node, pod];
    if (before[0] !== node || before[1] !== pod) this.version += 1;
  }

  // The moment of the next change after a time, or of the last one before it.
  stepFrom(time, forward) {
    const times = [[this.podLog, POD_ENTRY], [this.nodeLog, NODE_ENTRY]].map(([log, size]) => {
      let [low, high] = [0, log.length / size];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (log.values[middle * size] < time + (forward ? 1 : 0)) low = middle + 1;
        else high = middle;
      }
      const found = forward ? low : low - 1;
      return found >= 0 && found < log.length / size ? log.values[found * size] : null;
    }).filter((one) => one !== null);
    if (!times.length) return forward ? this.end : this.since;
    return forward ? Math.min(...times) : Math.max(...times);
  }

  // Rows of nodes by their names.
  nodeRows() {
    if (this.rows?.size !== this.cluster.names.length) {
      this.rows = new Map(this.cluster.names.map((name, row) => [name, row]));
    }
    return this.rows;
  }

  // Plans as they were at a moment, the newest first.
  plansAt(time) {
    const found = [];
    for (const versions of this.plans.values()) {
      const seen = versions.filter(([at]) => at <= time).at(-1);
      if (seen?.[1]) found.push(seen[1]);
    }
    return found.sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1
      : a.name < b.name ? 1 : -1));
  }

  putPod(log, at, from) {
    const row = log[at + 1];
    this.pods.reserve((row + 1) * POD, NO_POD);
    for (let column = 0; column < POD; column += 1) {
      this.pods.values[row * POD + column] = log[at + from + column];
    }
  }

  putNode(row, kind) {
    this.nodes.reserve(row + 1, [-1]);
    this.nodes.values[row] = kind;
    this.fit(row);
  }

  // What a node has, in the form in which the scripts of all pages read it.
  fit(row) {
    this.nodesVersion += 1;
    const [, , has] = this.nodeKinds[this.nodes.values[row]] ?? ["", [], {}];
    for (const name of Object.keys(has)) {
      if (!(name in this.cluster.amounts)) {
        this.cluster.amounts[name] = [];
        this.cluster.resources.push(name);
      }
    }
    for (const [name, amounts] of Object.entries(this.cluster.amounts)) {
      amounts[row] = has[name] ?? 0;
    }
  }

  logNode(time, row, kind) {
    this.latestNodes.reserve(row + 1, [-1]);
    this.nodeLog.push(time, row, kind, this.latestNodes.values[row]);
    this.latestNodes.values[row] = kind;
  }

  // The oldest quarter goes when the log is full.
  forget() {
    const entries = this.podLog.length / POD_ENTRY;
    if (entries <= MOST_ENTRIES) return;
    const { values } = this.podLog;
    this.since = values[(entries >> 2) * POD_ENTRY];
    let pods = entries >> 2;
    while (pods < entries && values[pods * POD_ENTRY] <= this.since) pods += 1;
    let nodes = 0;
    while (nodes * NODE_ENTRY < this.nodeLog.length
      && this.nodeLog.values[nodes * NODE_ENTRY] <= this.since) nodes += 1;
    this.seek(Math.max(this.since, this.shown ?? this.end));
    this.podLog.dropFirst(pods * POD_ENTRY);
    this.nodeLog.dropFirst(nodes * NODE_ENTRY);
    this.at = [this.at[0] - nodes, this.at[1] - pods];
  }
}

function logPod(log, state, time, from, at) {
  const row = from[at];
  state.reserve((row + 1) * POD, NO_POD);
  const place = log.length;
  log.reserve(place + POD_ENTRY);
  log.values[place] = time;
  log.values[place + 1] = row;
  for (let column = 0; column < POD; column += 1) {
    const is = row * POD + column;
    log.values[place + 2 + column] = from[at + 1 + column];
    log.values[place + 2 + POD + column] = state.values[is];
    state.values[is] = from[at + 1 + column];
  }
}

function joined(first, second) {
  const both = new Numbers(new Int32Array(first.length + second.length));
  both.values.set(first.values.subarray(0, first.length));
  both.values.set(second.values.subarray(0, second.length), first.length);
  return both;
}
