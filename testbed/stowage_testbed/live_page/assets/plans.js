// Plans: which there are, what the chosen one does, and what may be done with it.

const MOST_STEPS = 200;
const ENDED = ["Completed", "NoImprovement", "Aborted", "Failed"];

// Plans as they were at a time, the newest first; each has the phase of that time.
function plansAt(model, time) {
  const found = [];
  for (const plan of model.plans.values()) {
    if (plan.gone !== null && plan.gone <= time) continue;
    const phase = plan.phases.findLast(([at]) => at <= time);
    if (phase) found.push({ ...plan, phase: phase[1], past: phase !== plan.phases.at(-1) });
  }
  return found.sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : NATURAL.compare(b.name, a.name)));
}

function counted(plan) {
  const count = (what) => plan.steps.filter((step) => step[0] === what).length;
  return { places: count("place"), moves: count("move"), evicts: count("evict") };
}

function phaseText(plan) {
  return plan.phase || "not taken up yet";
}

function drawPlans(plans, chosen, choose) {
  if (!plans.length) {
    fill("plans", "", () => [element("p", {}, "There was no plan at this moment.")]);
    return;
  }
  const signature = JSON.stringify([chosen, plans.map((plan) => [plan.uid, plan.phase, plan.steps.length])]);
  fill("plans", signature, () => [planList(plans, chosen, choose)]);
}

function planList(plans, chosen, choose) {
  const titles = ["plan", "phase", "places", "moves", "evicts", "proved optimal"];
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  const body = plans.map((plan) => {
    const { places, moves, evicts } = counted(plan);
    const button = element("button", {
      type: "button", "data-key": plan.uid, "aria-pressed": plan.uid === chosen,
    }, plan.name);
    button.addEventListener("click", () => choose(plan.uid === chosen ? "" : plan.uid));
    const cells = [phaseText(plan), places, moves, evicts, plan.optimal ? "yes" : "no"];
    return element("tr", {}, element("th", { scope: "row" }, button),
      ...cells.map((cell) => element("td", {}, String(cell))));
  });
  return element("div", { class: "scroll plan-list", role: "region", tabindex: 0, "aria-label": "All plans", "data-key": "plans" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

function drawPlan(model, plan, act) {
  if (!plan) {
    fill("plan", "", () => [element("p", { class: "hint" }, "Choose a plan to see its moves, bar to bar, and what it proves.")]);
    return;
  }
  fill("plan", JSON.stringify([plan, model.changeable]), () => planParts(model, plan, act));
}

function planParts(model, plan, act) {
  const { places, moves, evicts } = counted(plan);
  const parts = [
    element("h3", {}, `${plan.name}: ${phaseText(plan)}`),
    element("p", {}, `${plan.mode === "Execute" ? "To be carried out" : "A proposal"}, asked for by ${plan.trigger}. ` +
      `It places ${plural(places, "waiting pod")}, moves ${moves.toLocaleString("en")} and evicts ${evicts.toLocaleString("en")}.`),
  ];
  if (plan.message) parts.push(element("p", {}, plan.message));
  if (plan.end) {
    parts.push(element("p", { class: "note" }, `${plan.strategy} ended with ${plan.end} after ${seconds(plan.solve_s)}, ` +
      `${plan.optimal ? "proved optimal" : "not proved optimal"}.`));
  }
  if (!plan.past) parts.push(actionsOf(model, plan, act));
  if (plan.tiers.length) {
    parts.push(element("h4", {}, "Pods by priority, and the bound that no plan can exceed"),
      tableOf("Pods by priority", ["priority and above", "placed before", "with the plan", "bound", "optimal"],
        plan.tiers.map((row) => row.map(String))));
  }
  if (plan.protected.length) {
    parts.push(element("h4", {}, "What was protected, and stays where it is"),
      tableOf("Protected pods", ["rule", "pods", "for example", "in the way of"],
        plan.protected.map((row) => row.map(String))));
  }
  if (plan.steps.length) {
    parts.push(element("h4", {}, "Steps"),
      tableOf("Steps of the plan", ["pod", "what", "from", "to", "state"],
        plan.steps.slice(0, MOST_STEPS).map(([what, pod, from, to, state]) => [pod, what, from, to, state])));
    const more = plan.steps.length - MOST_STEPS;
    if (more > 0) parts.push(element("p", { class: "note" }, `${plural(more, "more step")} not listed.`));
  }
  return parts;
}

function actionsOf(model, plan, act) {
  const ended = ENDED.includes(plan.phase);
  const verbs = [
    ...(plan.phase === "Proposed" && plan.mode === "DryRun" ? ["approve"] : []),
    ...(ended ? [] : ["abort"]),
  ];
  if (!verbs.length) return "";
  if (!model.changeable) {
    const commands = verbs.map((verb) => `stowage plan ${verb} ${plan.name}`).join("\n");
    return element("div", {}, element("p", { class: "note" },
      "This page only reads. With the rights for it, type:"), element("pre", {}, commands));
  }
  return element("p", { class: "controls" }, ...verbs.map((verb) => {
    const button = element("button", { type: "button", "data-key": verb, "data-verb": verb },
      verb === "approve" ? "Approve…" : "Give up…");
    button.addEventListener("click", () => act(plan, verb));
    return button;
  }));
}

// Asks once more, sends the request, and says what came of it.
function askAndSend(plan, verb) {
  const { places, moves, evicts } = counted(plan);
  const dialog = byId("ask");
  byId("ask-title").textContent = verb === "approve" ? `Carry out ${plan.name}?` : `Give up ${plan.name}?`;
  byId("ask-text").textContent = verb === "approve"
    ? `${plural(moves, "running pod")} will be moved and ${evicts.toLocaleString("en")} evicted, so that ${plural(places, "waiting pod")} get a node. The plan is checked again first.`
    : "What was moved already stays where it is.";
  const yes = byId("ask-yes");
  yes.textContent = verb === "approve" ? "Carry it out" : "Give it up";
  yes.onclick = async () => {
    dialog.close();
    byId("said").textContent = "";
    const path = `plans/${encodeURIComponent(plan.name)}/${verb}`;
    try {
      const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" } });
      byId("said").textContent = answer.ok
        ? `${plan.name} is ${verb === "approve" ? "approved" : "given up"}.`
        : await answer.text();
    } catch (error) {
      byId("said").textContent = `stowage does not answer: ${error.message}`;
    }
  };
  byId("ask-no").onclick = () => dialog.close();
  dialog.showModal();
}
