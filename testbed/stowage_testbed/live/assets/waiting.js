// Pods that wait, summed up by what the scheduler says of them.

const MOST_REASONS = 12;

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had ... . preemption: ..." as
// its parts, each with the number of nodes; any other text as it is.
function reasonsIn(text) {
  const said = /^0\/\d+ nodes are available: (.*?)\.?$/s.exec(text);
  if (!said) return [[text, null]];
  const [parts, ...sentences] = said[1].split(". ").filter((one) => !one.startsWith("preemption:"));
  const counted = parts.split(/, (?=\d+ )/).map((part) => {
    const [, count, reason] = /^(\d+) (.*)$/s.exec(part) ?? [];
    return reason ? [reason, Number(count)] : [part, null];
  });
  return [...counted, ...sentences.map((sentence) => [sentence, null])];
}

// Reasons with the pods that each keeps, most pods first.
function sumReasons(world, parsed) {
  const { values, length } = world.pods;
  const rows = [];
  const byWhy = new Map();
  for (let at = 0; at < length; at += POD) {
    if (values[at + 2] !== PHASE.waiting) continue;
    rows.push(at / POD);
    const why = values[at + 3];
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
  return { count: rows.length, sums: [...sums.values()].sort((a, b) => b.pods - a.pods) };
}

function waitingTable(world, parsed) {
  const { count, sums } = sumReasons(world, parsed);
  if (!count) return [element("p", {}, "No pod waits.")];
  const rows = sums.slice(0, MOST_REASONS).map(({ reason, pods, nodes: [low, high], example }) => [
    reason, pods.toLocaleString("en"),
    high === 0 ? "" : low === high ? `${high}` : `${low} to ${high}`,
    world.run.names[example],
  ]);
  const table = tableOf("Why pods wait", ["what the scheduler says", "pods", "of nodes", "for example"], rows);
  const left = sums.length - rows.length;
  return left > 0 ? [table, element("p", { class: "note" }, `${plural(left, "further reason")}.`)] : [table];
}

function tableOf(title, headers, rows) {
  const head = element("tr", {}, ...headers.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell, index) => (index
    ? element("td", {}, String(cell)) : element("th", { scope: "row" }, String(cell))))));
  return element("div", { class: "scroll list", role: "group", tabindex: 0, "aria-label": title },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}
