// Step lines over one horizontal scale: latency distributions and loads over time.

const CURVE_HEIGHT = 300;
const MARGIN = { left: 58, right: 14, top: 10, bottom: 40 };

// The value of a step line at x.
function valueAt(line, x) {
  let [low, high] = [0, line.x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.x[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low ? line.y[low - 1] : 0;
}

function stepPath(line, xScale, yScale, end) {
  const parts = [];
  line.x.forEach((x, index) => {
    const at = xScale.place(Math.min(x, end)).toFixed(1);
    const y = yScale.place(line.y[index]).toFixed(1);
    parts.push(index ? `H${at}V${y}` : `M${at},${y}`);
  });
  return `${parts.join("")}H${xScale.place(end).toFixed(1)}`;
}

// A plot in a container. `chart` holds:
//   lines     [{arm, x, y, bold}], the bold ones in front and read out
//   arms      names
//   log       whether the horizontal scale is logarithmic
//   label     what the plot shows, for those who cannot see it
//   xLabel, yLabel, yText, yTop
//   marker    a moment to mark, if any
function drawCurves(container, chart) {
  const width = Math.max(container.clientWidth, 320);
  const scales = curveScales(chart, width);
  const root = shape("svg", {
    viewBox: `0 0 ${width} ${CURVE_HEIGHT}`, role: "img", tabindex: 0,
    "aria-label": chart.label, class: "curves",
  });
  root.append(curveGrid(chart, scales, width));
  for (const bold of [false, true]) {
    for (const line of chart.lines.filter((one) => one.bold === bold && one.x.length)) {
      root.append(shape("path", {
        d: stepPath(line, scales.x, scales.y, scales.x.high),
        class: `line ${bold ? "bold" : "faint"} stroke-${series(line.arm)}`,
        "stroke-dasharray": bold ? dashes(line.arm) : "none",
      }));
    }
  }
  if (chart.marker !== undefined) {
    root.append(verticalLine(scales.x.place(Math.min(chart.marker, scales.x.high)), "marker"));
  }
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  readAlong(root, readout, chart, scales, width);
  container.replaceChildren(legend(chart), root, readout);
}

function curveScales(chart, width) {
  const ends = chart.lines.filter((line) => line.x.length);
  const high = Math.max(1e-6, ...ends.map((line) => line.x.at(-1)));
  const starts = ends.flatMap((line) => line.x.filter((x) => x > 0).slice(0, 1));
  const low = Math.max(1e-4, Math.min(high / 10, ...starts));
  const sides = [MARGIN.left, width - MARGIN.right];
  const top = chart.yTop ?? roundedUp(Math.max(0, ...ends.map((line) => Math.max(...line.y))));
  return {
    x: chart.log ? logScale(low, high, ...sides) : linearScale(0, high, ...sides),
    y: linearScale(0, top, CURVE_HEIGHT - MARGIN.bottom, MARGIN.top),
  };
}

function verticalLine(x, kind) {
  return shape("line", {
    x1: x, x2: x, y1: MARGIN.top, y2: CURVE_HEIGHT - MARGIN.bottom, class: kind,
  });
}

function curveGrid(chart, scales, width) {
  const grid = shape("g", { class: "grid" });
  const bottom = CURVE_HEIGHT - MARGIN.bottom;
  for (const tick of scales.y.ticks) {
    const y = scales.y.place(tick);
    grid.append(
      shape("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }),
      shape("text", { x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" }, chart.yText(tick)),
    );
  }
  for (const tick of scales.x.ticks) {
    const x = scales.x.place(tick);
    grid.append(
      shape("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4 }),
      shape("text", { x, y: bottom + 17, "text-anchor": "middle" }, seconds(tick)),
    );
  }
  grid.append(shape(
    "text", { x: width - MARGIN.right, y: CURVE_HEIGHT - 4, "text-anchor": "end" }, chart.xLabel,
  ));
  return grid;
}

function legend(chart) {
  const drawn = new Set(chart.lines.map((line) => line.arm));
  const list = element("ul", { class: "legend" });
  for (const arm of [...drawn].sort((a, b) => a - b)) {
    const sample = shape("svg", { width: 34, height: 10, "aria-hidden": "true" }, shape("line", {
      x1: 1, x2: 33, y1: 5, y2: 5, class: `line bold stroke-${series(arm)}`,
      "stroke-dasharray": dashes(arm),
    }));
    list.append(element("li", {}, sample, chart.arms[arm]));
  }
  return list;
}

// The pointer, or the arrow keys, read the lines off at one place.
function readAlong(root, readout, chart, scales, width) {
  const cursor = verticalLine(0, "cursor");
  cursor.setAttribute("visibility", "hidden");
  root.append(cursor);
  let at = MARGIN.left;
  const show = (x) => {
    at = Math.min(Math.max(x, MARGIN.left), width - MARGIN.right);
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
    cursor.setAttribute("visibility", "visible");
    const value = scales.x.invert(at);
    const read = chart.lines.filter((line) => line.bold)
      .map((line) => `${chart.arms[line.arm]} ${chart.yText(valueAt(line, value))}`);
    readout.textContent = `at ${seconds(value)}: ${read.join(" · ")}`;
  };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    show(((event.clientX - box.left) / box.width) * width);
  });
  root.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(at + (step * (width - MARGIN.left - MARGIN.right)) / 100);
  });
}
