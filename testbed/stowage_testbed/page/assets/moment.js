// What stands where at one moment of a run.

const KIND = { workload: 0, priority: 1, requests: 2, namespace: 3 };

function hasNode(run, pod, time) {
  const [begin, end] = [run.starts[pod], run.gone[pod]];
  return run.node[pod] >= 0 && begin !== null && begin <= time && (end === null || time < end);
}

function isWaiting(run, pod, time) {
  const [begin, placed, end] = [run.waits[pod], run.starts[pod], run.gone[pod]];
  if (begin === null || begin > time) return false;
  return (placed === null || placed > time) && (end === null || time < end);
}

function amountOf(run, pod, resource) {
  return run.kinds[run.kind[pod]][KIND.requests][resource] ?? 0;
}

// What a full bar stands for: pods are counted, of the rest each node has its own.
function wholeOf(cluster, node, resource) {
  return resource === "pods" ? 1 : cluster.amounts[resource][node] || 1;
}

// Pods by node, those of one key together, in the order of their binding.
function momentOf(run, cluster, time, keyOf) {
  const nodes = cluster.names.map(() => []);
  let [placed, waiting] = [0, 0];
  for (let pod = 0; pod < run.names.length; pod += 1) {
    if (hasNode(run, pod, time)) {
      nodes[run.node[pod]].push(pod);
      placed += 1;
    } else if (isWaiting(run, pod, time)) waiting += 1;
  }
  const keys = run.kinds.map(keyOf);
  for (const pods of nodes) pods.sort((a, b) => keys[run.kind[a]] - keys[run.kind[b]] || a - b);
  return { nodes, placed, waiting };
}

// The moments at which something changes, in order.
function changesOf(runs) {
  const found = new Set([0]);
  for (const run of runs) {
    for (const column of [run.waits, run.starts, run.gone]) {
      for (const time of column) if (time !== null && time > 0) found.add(time);
    }
  }
  return [...found].sort((a, b) => a - b);
}

// Bars of a cluster: a node each, or as many neighbours as it takes to keep them visible.
const MOST_BARS = 60;

function barsOf(cluster) {
  const count = cluster.names.length;
  const size = Math.ceil(count / MOST_BARS);
  const bars = [];
  for (let first = 0; first < count; first += size) {
    const nodes = [];
    for (let node = first; node < Math.min(first + size, count); node += 1) nodes.push(node);
    const names = cluster.names;
    const name = nodes.length > 1 ? `${names[first]} to ${names[nodes.at(-1)]}` : names[first];
    bars.push({ name, first: names[first], nodes });
  }
  return bars;
}

// A load as the bars show it: pods as a number, the rest as a share of the node.
function loadOf(run, cluster, node, pods, resource) {
  const sum = pods.reduce((total, pod) => total + amountOf(run, pod, resource), 0);
  return sum / wholeOf(cluster, node, resource);
}

function loadText(load, resource) {
  return resource === "pods" ? `${+load.toFixed(1)}` : percent(load);
}

// The highest load that any node ever has, so that bars do not change their scale.
function peakOf(run, cluster, resource) {
  const changes = [];
  for (let pod = 0; pod < run.names.length; pod += 1) {
    if (run.node[pod] < 0 || run.starts[pod] === null) continue;
    const amount = amountOf(run, pod, resource);
    changes.push([run.starts[pod], amount, run.node[pod]]);
    if (run.gone[pod] !== null) changes.push([run.gone[pod], -amount, run.node[pod]]);
  }
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const loads = cluster.names.map(() => 0);
  let peak = 0;
  for (const [, amount, node] of changes) {
    loads[node] += amount;
    peak = Math.max(peak, loads[node] / wholeOf(cluster, node, resource));
  }
  return peak;
}
