// The chosen plan: what it does, its bounds, what was protected, and what to do with it.

const MOST_STEPS = 200;
const FINISHED = ["Completed", "NoImprovement", "Aborted", "Failed"];

function planTitle(plan) {
  const [placed, moved, evicted] = plan.counts;
  const emptied = plan.nodes.length ? `, empties ${plural(plan.nodes.length, "node")}` : "";
  return `${plan.name}: ${plan.phase || "not taken up yet"}, places ${placed}, moves ${moved}, evicts ${evicted}${emptied}`;
}

function planParts(plan) {
  const parts = [planWords(plan), ...plan.emptying].map((words) => element("p", {}, words));
  const steps = stepsOf(plan);
  // Most plans have no steps that are carried out together.
  const columns = steps.some((row) => row.at(-1)) ? 6 : 5;
  const tables = [
    ["Pods by priority", ["priority and above", "placed before", "placed", "bound", "optimal"],
      plan.tiers.map(([priority, before, placed, bound, optimal]) =>
        [priority || 0, before || 0, placed || 0, bound || 0, optimal ? "yes" : "no"])],
    ["Emptied nodes", ["node", "price of an hour", "moves", "gain", "state", "why"], plan.nodes],
    ["Steps", ["what", "pod", "from", "to", "state", "together as"].slice(0, columns),
      steps.map((row) => row.slice(0, columns))],
    ["Kept where they are", ["rule", "pods", "for example", "in the way of"], plan.protected],
    ["Turned down", ["pod", "reason", "detail"], plan.objections],
    ["Left alone", ["pod", "reason", "detail"], plan.refusals],
  ];
  for (const [title, headers, rows] of tables) {
    if (rows.length) parts.push(element("h3", {}, title), tableOf(title, headers, rows.slice(0, MOST_STEPS)));
    if (rows.length > MOST_STEPS) {
      parts.push(element("p", { class: "note" }, `${plural(rows.length - MOST_STEPS, "further line")}.`));
    }
  }
  return parts;
}

function planWords(plan) {
  const proof = plan.optimal ? "proved optimal" : "not proved optimal";
  const ended = plan.end ? ` ${plan.end} after ${plan.seconds.toFixed(2)} s, ${proof}.` : "";
  const { phase, mode, trigger, message } = plan;
  const said = message ? ` ${message[0].toUpperCase()}${message.slice(1)}.` : "";
  return `${phase || "Not taken up yet"} (${mode}${trigger ? `, ${trigger}` : ""}).${ended}${said}`;
}

function stepsOf(plan) {
  return [
    ...plan.evictions.map(([pod, node, state, unit]) => ["evict", pod, node, "", state, unit]),
    ...plan.moves.map(([pod, from, to, state, unit]) => ["move", pod, from, to, state, unit]),
    ...plan.placements.map(([pod, node, unit]) => ["place", pod, "", node, "", unit]),
  ];
}

// What may be done with a plan in its phase.
function choicesOf(plan) {
  if (!plan || FINISHED.includes(plan.phase)) return [];
  return plan.phase === "Proposed" ? ["approve", "abort"] : ["abort"];
}

// A button that asks once more before it does anything.
function sureButton(what, plan, say) {
  const first = what === "approve" ? "Approve" : "Abort";
  const button = element("button", { type: "button" }, first);
  let sure = false;
  button.addEventListener("blur", () => {
    sure = false;
    button.textContent = first;
  });
  button.addEventListener("click", async () => {
    if (!sure) {
      sure = true;
      const [, moved, evicted] = plan.counts;
      button.textContent = what === "approve"
        ? `Really approve: ${plural(moved + evicted, "pod")} will be evicted` : "Really abort";
      return;
    }
    button.disabled = true;
    try {
      await ask(`plans/${encodeURIComponent(plan.name)}/${what}`, { method: "POST" });
      say(`${plan.name}: ${what === "approve" ? "approved" : "given up"}`);
    } catch (error) {
      say(error.message);
      button.disabled = false;
    }
  });
  return button;
}
