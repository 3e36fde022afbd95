// Pods that wait, summed up by what the scheduler says of them.

const MOST_ROWS = 12;

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had ... . preemption: ..." as
// its parts, each with the number of nodes; any other text as it is. Where there were too
// many different messages, the server has written n for each number.
function reasonsIn(text) {
  const said = /^[0n]\/(?:\d+|n) nodes are available: (.*?)\.?$/s.exec(text);
  if (!said) return [[text, null]];
  const [parts, ...sentences] = said[1].split(". ").filter((one) => !one.startsWith("preemption:"));
  const counted = parts.split(/, (?=(?:\d+|n) )/).map((part) => {
    const [, count, reason] = /^(\d+|n) (.*)$/s.exec(part) ?? [];
    return [reason ?? part, reason && count !== "n" ? Number(count) : null];
  });
  return [...counted, ...sentences.map((sentence) => [sentence, null])];
}

// Reasons with the pods that each keeps, most pods first.
function sumReasons(world, parsed) {
  const { values, length } = world.pods;
  let count = 0;
  const [byWhy, byKind] = [new Map(), new Map()];
  for (let at = 0; at < length; at += POD) {
    if (values[at + 2] !== PHASE.waiting) continue;
    count += 1;
    const [kind, why] = [values[at], values[at + 3]];
    byKind.set(kind, (byKind.get(kind) ?? 0) + 1);
    if (!byWhy.has(why)) byWhy.set(why, []);
    byWhy.get(why).push(at / POD);
  }
  const sums = new Map();
  for (const [why, pods] of byWhy) {
    if (!parsed.has(why)) parsed.set(why, reasonsIn(world.whys[why] ?? ""));
    for (const [reason, nodes] of parsed.get(why)) {
      const sum = sums.get(reason) ?? { reason, pods: 0, nodes: [Infinity, 0], example: pods[0] };
      sum.pods += pods.length;
      if (nodes !== null) sum.nodes = [Math.min(sum.nodes[0], nodes), Math.max(sum.nodes[1], nodes)];
      sums.set(reason, sum);
    }
  }
  const kinds = [...byKind].sort((a, b) => b[1] - a[1]);
  return { count, kinds, sums: [...sums.values()].sort((a, b) => b.pods - a.pods) };
}

function waitingTables(world, parsed) {
  const { count, kinds, sums } = sumReasons(world, parsed);
  if (!count) return [element("p", {}, "No pod waits.")];
  const reasons = sums.map(({ reason, pods, nodes: [low, high], example }) => [
    reason, pods.toLocaleString("en"),
    high === 0 ? "" : low === high ? `${high}` : `${low} to ${high}`,
    world.run.names[example],
  ]);
  // While a workload is rolled out, its pods are of two kinds.
  const byWorkload = new Map();
  for (const [kind, pods] of kinds) {
    const [workload, priority, , namespace] = world.run.kinds[kind];
    const key = JSON.stringify([workload, namespace, priority]);
    byWorkload.set(key, (byWorkload.get(key) ?? 0) + pods);
  }
  const workloads = [...byWorkload].sort((a, b) => b[1] - a[1])
    .map(([key, pods]) => [...JSON.parse(key), pods.toLocaleString("en")]);
  return [
    firstRows("Why pods wait", ["what the scheduler says", "pods", "of nodes", "for example"], reasons),
    firstRows("Workloads that wait", ["workload", "namespace", "priority", "pods"], workloads),
  ];
}

function firstRows(title, headers, rows) {
  const left = rows.length - MOST_ROWS;
  const note = left > 0 ? [element("p", { class: "note" }, `${plural(left, "further line")}.`)] : [];
  return element("div", {}, tableOf(title, headers, rows.slice(0, MOST_ROWS)), ...note);
}

function tableOf(title, headers, rows) {
  const head = element("tr", {}, ...headers.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell, index) => (index
    ? element("td", {}, String(cell)) : element("th", { scope: "row" }, String(cell))))));
  return element("div", { class: "scroll list", role: "group", tabindex: 0, "aria-label": title },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}
