// Scales and their ticks.

function seconds(value) {
  if (value === 0) return "0 s";
  return value < 0.9995 ? `${+(value * 1000).toPrecision(3)} ms` : `${+value.toPrecision(4)} s`;
}

function percent(share) {
  return `${+(share * 100).toPrecision(3)} %`;
}

// A step of 1, 2 or 5 times a power of ten that cuts the span into about `count` parts.
function stepFor(span, count) {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * power >= rough * 0.999);
  return factor * power;
}

function linearScale(low, high, from, to) {
  const span = high - low || 1;
  const place = (value) => from + ((value - low) / span) * (to - from);
  const step = stepFor(span, 6);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-6; n += 1) {
    ticks.push(+(n * step).toPrecision(12));
  }
  return { place, invert: (x) => low + ((x - from) / (to - from)) * span, ticks, low, high };
}

function logScale(low, high, from, to) {
  const [first, last] = [Math.log10(low), Math.log10(high)];
  const span = last - first || 1;
  const place = (value) => from + ((Math.log10(Math.max(value, low)) - first) / span) * (to - from);
  const marks = span > 2 ? [1] : span > 1 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(first); power <= last; power += 1) {
    for (const mark of marks) {
      const value = mark * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(+value.toPrecision(6));
    }
  }
  const invert = (x) => 10 ** (first + ((x - from) / (to - from)) * span);
  return { place, invert, ticks, low, high };
}

// The smallest round number that is not below the value.
function roundedUp(value) {
  if (value <= 0) return 1;
  const step = stepFor(value, 4);
  return Math.ceil(value / step - 1e-9) * step;
}
