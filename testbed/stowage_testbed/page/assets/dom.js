// Elements are made, never parsed: whatever a name holds, it stays text.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

// Colours are classes of the style sheet, so that dark, light and print can differ.
const SERIES = 8;

function series(index) {
  return index < SERIES ? `series-${index}` : "series-other";
}

// Lines differ by their dashes too: not every reader can distinguish the colours.
const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "2 6", "6 2 2 2 2 2"];

function dashes(index) {
  return DASHES[index % DASHES.length];
}
