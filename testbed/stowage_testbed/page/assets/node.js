// The pods of the chosen node, or of each node of the chosen group.

const MOST_LISTED = 250;

// Nodes of a group whose pods are listed, by panel and number, also after a redraw.
const opened = new Set();

// Without a time nothing is said of when.
function nodeDetail(panel, moment, bar, time) {
  const { name, nodes } = panel.bars[bar];
  const many = nodes.length > 1;
  const heading = element("h3", { id: "chosen", "aria-live": "polite" },
    `${panel.title}, ${name}${time === undefined ? "" : `, at ${seconds(time)}`}`);
  const parts = nodes.map((node) => nodePart(panel, moment, node, many, time !== undefined));
  return [heading, ...parts];
}

function nodePart(panel, moment, node, many, timed) {
  const { run, cluster } = panel;
  const pods = moment.nodes[node];
  const loads = cluster.resources.filter((resource) => cluster.amounts[resource][node]).map(
    (resource) => `${resource} ${percent(loadOf(run, cluster, node, pods, resource))}`,
  );
  const summary = `${cluster.names[node]}: ${plural(pods.length, "pod")} of ` +
    `${cluster.amounts.pods[node]}, ${loads.join(", ")}`;
  const part = element("details", { class: "node" }, element("summary", {}, summary));
  // The list of a closed node is made when it is opened: a group may hold thousands.
  const list = () => {
    if (part.open && part.childElementCount === 1) part.append(podTable(run, pods, timed));
  };
  const key = `${panel.title} ${node}`;
  part.open = !many || opened.has(key);
  list();
  part.addEventListener("toggle", () => {
    list();
    if (part.open) opened.add(key);
    else opened.delete(key);
  });
  return part;
}

function podTable(run, pods, timed) {
  if (!pods.length) return element("p", {}, "No pod is here at this moment.");
  const head = element("tr");
  // Of pods that are seen live it is known which devices are allocated to them.
  const allocated = run.devices && pods.some(run.devices);
  const titles = ["pod", "workload", "priority", ...(allocated ? ["devices"] : []), ...(timed ? ["here since"] : [])];
  for (const title of titles) {
    head.append(element("th", { scope: "col" }, title));
  }
  const body = element("tbody");
  for (const pod of pods.slice(0, MOST_LISTED)) {
    const [workload, priority] = run.kinds[run.kind[pod]];
    const devices = allocated ? [run.devices(pod)] : [];
    const since = timed ? [seconds(run.starts[pod])] : [];
    const cells = [run.names[pod], workload, String(priority), ...devices, ...since];
    body.append(element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  }
  const table = element("table", { class: "pods" }, element("thead", {}, head), body);
  const more = pods.length - MOST_LISTED;
  const rest = more > 0 ? [element("p", {}, `${plural(more, "more pod")} not listed.`)] : [];
  return element("div", {
    class: "list", role: "group", tabindex: 0, "aria-label": "Pods of the node",
  }, table, ...rest);
}
