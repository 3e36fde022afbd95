// The shown moment in numbers: the whole cluster, its zones, and the chosen node.

function sums() {
  const { shown } = view.model;
  let [placed, waiting] = [0, 0];
  for (let pod = 0; pod < shown.pods; pod += 1) {
    if (shown.state[pod] >= STATE.bound) placed += 1;
    else if (shown.state[pod] === STATE.waiting) waiting += 1;
  }
  const nodes = view.layout.order;
  const used = nodes.filter((node) => view.counts[node] > 0);
  return { nodes: nodes.length, used: used.length, placed, waiting };
}

function shareOf(resource) {
  const { shown } = view.model;
  const whole = shown.cluster[resource] ?? [];
  const loads = loadsOf(view.model, resource);
  let [load, all] = [0, 0];
  for (const node of view.layout.order) {
    load += loads[node] * whole[node];
    all += whole[node];
  }
  return all ? load / all : 0;
}

function drawNumbers() {
  const now = sums();
  const number = (id, text) => { byId(id).textContent = text; };
  number("count-nodes", now.nodes.toLocaleString("en"));
  number("count-empty", (now.nodes - now.used).toLocaleString("en"));
  number("count-placed", now.placed.toLocaleString("en"));
  number("count-waiting", now.waiting.toLocaleString("en"));
  number("share-cpu", percent(shareOf("cpu")));
  number("share-memory", percent(shareOf("memory")));
  view.sums = now;
}

function statesOf(row) {
  return [...(row[NODE.cordoned] ? ["cordoned"] : []), ...(row[NODE.ready] ? [] : ["not ready"])];
}

function drawNode() {
  const { chosen, model } = view;
  if (chosen < 0 || !model.shown.rows[chosen]) {
    fill("node", "", () => [element("p", { class: "hint" }, "Choose a node to list its pods: by a click, or with the arrow keys on the nodes.")]);
    return;
  }
  const pods = podsOn(model, chosen, view.keys);
  const row = model.shown.rows[chosen];
  const signature = `${model.began} ${chosen} ${row.join()} ${pods.join()}`;
  fill("node", signature, () => detailOf(model, chosen, row, pods));
}

function detailOf(model, chosen, row, pods) {
  const panel = {
    title: row[NODE.zone] || model.cluster, run: runOf(model), cluster: model.shown.cluster,
    bars: [{ name: row[NODE.name], nodes: [chosen] }],
  };
  const nodes = [];
  nodes[chosen] = pods;
  const states = statesOf(row);
  const parts = nodeDetail(panel, { nodes }, 0);
  if (states.length) parts.splice(1, 0, element("p", {}, `This node is ${states.join(" and ")}.`));
  // Read out when the reader chooses, not whenever a pod comes.
  parts[0].removeAttribute("aria-live");
  return parts;
}

function drawZoneTable() {
  const { model, counts, layout } = view;
  const loads = ["cpu", "memory"].map((resource) => loadsOf(model, resource));
  const rows = layout.zones.map(({ name, nodes }) => {
    const pods = nodes.reduce((sum, node) => sum + counts[node], 0);
    const empty = nodes.filter((node) => !counts[node]).length;
    const shares = ["cpu", "memory"].map((resource, at) => {
      const whole = model.shown.cluster[resource];
      const all = nodes.reduce((sum, node) => sum + whole[node], 0);
      return percent(all ? nodes.reduce((sum, node) => sum + loads[at][node] * whole[node], 0) / all : 0);
    });
    return [name || "no zone", ...[nodes.length, empty, pods].map((count) => count.toLocaleString("en")), ...shares];
  });
  fill("zone-table", JSON.stringify(rows), () => [tableOf("Zones", ["zone", "nodes", "without pods", "pods", "cpu requested", "memory requested"], rows)]);
}
