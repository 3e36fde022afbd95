// Colours for the canvas, read from the style sheet: dark, light and palettes differ there.

const HEAT_STEPS = 20;

function paletteNow() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["paper", "raised", "ink", "quiet", "rule", "accent", "good", "bad", "empty"];
  const palette = Object.fromEntries(names.map((name) => [name, read(name)]));
  palette.series = Array.from({ length: SERIES }, (_, index) => read(`series-${index}`));
  palette.other = read("series-other");
  const [low, high] = [rgbOf(read("heat-low")), rgbOf(read("heat-high"))];
  palette.heat = Array.from({ length: HEAT_STEPS + 1 }, (_, step) => {
    const share = step / HEAT_STEPS;
    return `rgb(${low.map((part, i) => Math.round(part + (high[i] - part) * share)).join(" ")})`;
  });
  return palette;
}

function rgbOf(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

function seriesColour(palette, key) {
  return key < SERIES ? palette.series[key] : palette.other;
}

function heatColour(palette, share) {
  return palette.heat[Math.round(Math.min(Math.max(share, 0), 1) * HEAT_STEPS)];
}
