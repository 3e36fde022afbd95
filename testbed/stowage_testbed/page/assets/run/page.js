// Two panels, before and after, and the pods of the node that is chosen.

const data = JSON.parse(byId("data").textContent);
const state = { chosen: null, panels: [] };

function drawPlacements() {
  const { cluster, panels } = data;
  const resource = byId("resource").value;
  const colour = byId("colour").value;
  const keys = keysOf(panels.map((panel) => panel.run), colour);
  const places = new Map(keys.map((key, index) => [key, index]));
  const peaks = panels.map(({ run }) => peakOf(run, cluster, resource));
  drawKeys(keys);
  const containers = panels.map(({ title }) => element("div", { class: "panel", "data-arm": title }));
  byId("panels").replaceChildren(...containers);
  state.panels = panels.map(({ title, run }, index) => {
    const panel = {
      run, cluster, resource, title, top: roundedUp(Math.max(0, ...peaks)), bars: barsOf(cluster),
      keyOf: (kind) => places.get(kind[KIND[colour]]),
      choose: (bar) => { state.chosen = { panel: index, bar }; fillPanels(); },
    };
    return { ...panel, fill: barPanel(containers[index], panel) };
  });
  fillPanels();
}

function fillPanels() {
  const { chosen, panels } = state;
  const moments = panels.map((panel, index) =>
    panel.fill(0, chosen?.panel === index ? chosen.bar : -1));
  byId("node").replaceChildren(...(chosen
    ? nodeDetail(panels[chosen.panel], moments[chosen.panel], chosen.bar)
    : [element("p", { class: "hint" }, "Choose a node above to list its pods.")]));
}

for (const id of ["resource", "colour"]) byId(id).addEventListener("change", drawPlacements);
drawPlacements();
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  drawPlacements();
});
