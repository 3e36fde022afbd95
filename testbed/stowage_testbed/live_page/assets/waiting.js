// Pods that wait, and why: the scheduler's causes, counted over pods.

const MOST_CAUSES = 30;
const MOST_WORKLOADS = 3;

function waitingCauses(model) {
  const { shown } = model;
  const rows = new Map();
  const at = (cause) => {
    if (!rows.has(cause)) rows.set(cause, { cause, pods: 0, oldest: Infinity, workloads: new Map() });
    return rows.get(cause);
  };
  const perReason = new Map();
  for (let pod = 0; pod < shown.pods; pod += 1) {
    if (shown.state[pod] !== STATE.waiting) continue;
    const reason = shown.reason[pod];
    if (!perReason.has(reason)) {
      const causes = reason < 0 ? ["no scheduler has tried the pod yet"] : model.reasons[reason][0];
      perReason.set(reason, causes.map(at));
    }
    const [workload, , , , namespace] = model.kinds[shown.kind[pod]];
    for (const row of perReason.get(reason)) {
      row.pods += 1;
      row.oldest = Math.min(row.oldest, model.created[pod]);
      const name = `${namespace}/${workload}`;
      row.workloads.set(name, (row.workloads.get(name) ?? 0) + 1);
    }
  }
  const causes = [...rows.values()].sort((a, b) => b.pods - a.pods || (a.cause < b.cause ? -1 : 1));
  return { causes, reasons: [...perReason.keys()].filter((reason) => reason >= 0) };
}

function drawWaiting(model) {
  const { causes, reasons } = waitingCauses(model);
  const nowS = (model.began + model.shown.time) / 1000;
  if (!causes.length) {
    fill("waiting", "", () => [element("p", {}, "No pod waits for a node.")]);
    return;
  }
  const rows = causes.slice(0, MOST_CAUSES).map((row) => {
    const most = [...row.workloads].sort((a, b) => b[1] - a[1]);
    const named = most.slice(0, MOST_WORKLOADS).map(([name, count]) => `${name} (${count})`);
    const more = most.length - named.length;
    if (more > 0) named.push(`and ${plural(more, "more workload")}`);
    const age = row.oldest > 0 ? durationText(Math.max(0, nowS - row.oldest)) : "";
    return [row.cause, row.pods.toLocaleString("en"), named.join(", "), age];
  });
  const said = reasons.slice(0, MOST_CAUSES).map((reason) => model.reasons[reason][1]);
  fill("waiting", JSON.stringify([rows, said]), () => waitingParts(rows, said));
}

function waitingParts(rows, said) {
  const sentences = element("details", {},
    element("summary", { "data-key": "said" }, "What the scheduler said, for example"),
    element("ul", { class: "said" }, ...said.map((sentence) => element("li", {}, sentence))));
  keepOpen(sentences, "said");
  return [
    tableOf("Why pods wait", ["cause", "pods", "of", "the oldest is"], rows),
    element("p", { class: "note" }, "A pod may wait for several causes, each on other nodes."),
    sentences,
  ];
}

function durationText(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

// A part is made anew when its signature changes; what the reader opened stays open, and
// focus and scrolled tables stay where they are.
const kept = new Set();
const signatures = new Map();

function fill(id, signature, make) {
  if (signatures.get(id) === signature) return;
  signatures.set(id, signature);
  const part = byId(id);
  const focused = part.contains(document.activeElement) ? document.activeElement.dataset.key : "";
  const scrolled = [...part.querySelectorAll("[data-key]")]
    .map(({ dataset, scrollTop }) => [dataset.key, scrollTop]).filter(([, top]) => top);
  part.replaceChildren(...make());
  const found = (key) => part.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (focused) found(focused)?.focus();
  for (const [key, top] of scrolled) found(key)?.scrollTo(0, top);
}

function keepOpen(details, key) {
  details.open = kept.has(key);
  details.addEventListener("toggle", () => {
    if (details.open) kept.add(key);
    else kept.delete(key);
  });
}

function tableOf(label, titles, rows) {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  const body = rows.map(([first, ...rest]) => element("tr", {},
    element("th", { scope: "row" }, first),
    ...rest.map((cell) => element("td", {}, cell))));
  return element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": label, "data-key": label },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}
