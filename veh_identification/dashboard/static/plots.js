'use strict';
/* Small plots on canvases; every function draws from scratch what it is given. */
const plots = (() => {
  const FONT = '11px system-ui, "DejaVu Sans", sans-serif';
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /* A number with as many digits as its size or its deviation deserves. */
  const digits = (value, step) => {
    if (value === null || value === undefined) { return '–'; }
    if (value === 0) { return '0'; }
    const size = Math.floor(Math.log10(Math.abs(value)));
    const fine = step > 0 ? Math.floor(Math.log10(step)) - 1 : size - 3;
    if (step > 0 && size < fine) { return (0).toFixed(Math.min(8, Math.max(0, -fine))); }
    if (size >= 7 || size < -4) { return value.toExponential(Math.min(6, Math.max(1, size - fine))); }
    return value.toFixed(Math.min(8, Math.max(0, -fine)));
  };

  const prepare = (canvas) => {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width || !height) { return null; }
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = FONT;
    c.lineJoin = 'round';
    return { c, width, height };
  };

  const steps = (low, high, many) => {
    const raw = (high - low) / many;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) { found.push(k * step); }
    return { found, step };
  };

  /* Axes of time and value; returns the functions from numbers to pixels. */
  const axes = (area, t, y) => {
    const { c, width, height } = area;
    const bottom = height - 15; const top = 5; const right = width - 6;
    const rows = steps(y[0], y[1], Math.max(3, Math.floor((bottom - top) / 24)));
    const labels = rows.found.map((value) => digits(value, rows.step * 10));
    const left = Math.max(44, 8 + Math.max(0, ...labels.map((text) => c.measureText(text).width)));
    const px = (time) => left + (right - left) * (time - t[0]) / Math.max(t[1] - t[0], 1e-9);
    const py = (value) => bottom - (bottom - top) * (value - y[0]) / Math.max(y[1] - y[0], 1e-300);
    c.strokeStyle = colour('grid');
    c.fillStyle = colour('soft');
    c.lineWidth = 1;
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    rows.found.forEach((value, k) => {
      c.beginPath(); c.moveTo(left, py(value)); c.lineTo(right, py(value)); c.stroke();
      c.fillText(labels[k], left - 4, Math.min(Math.max(py(value), 6), height - 6));
    });
    const columns = steps(t[0], t[1], Math.max(2, Math.floor((right - left) / 64)));
    c.textBaseline = 'alphabetic';
    for (const time of columns.found) {
      c.textAlign = px(time) > right - 18 ? 'right' : px(time) < left + 10 ? 'left' : 'center';
      c.fillText(`${digits(time, columns.step * 10)} s`, px(time), height - 2);
    }
    c.save();
    c.beginPath(); c.rect(left, top - 3, right - left + 3, bottom - top + 6); c.clip();
    return { px, py, left, right };
  };

  const polyline = (c, points) => {
    c.beginPath();
    let down = false;
    for (const [x, y] of points) {
      if (y === null) { down = false; continue; }
      if (down) { c.lineTo(x, y); } else { c.moveTo(x, y); }
      down = true;
    }
    c.stroke();
  };

  const spread = (low, high) => {
    if (!(low <= high)) { return [0, 1]; }
    const room = Math.max(0.06 * (high - low), (high > low ? 1e-6 : 1e-3) * Math.max(Math.abs(low), Math.abs(high)), 1e-12);
    return [low - room, high + room];
  };

  /* rows of [time, value, deviation]; the range is that of the rows after the first fifth, which
     may be many times wider. */
  const band = (canvas, rows, aPriori) => {
    const area = prepare(canvas);
    if (!area || !rows.length) { return; }
    const { c } = area;
    let low = Infinity; let high = -Infinity;
    for (const [, value, std] of rows.slice(rows.length > 4 ? Math.floor(rows.length / 5) : 0)) {
      if (value === null) { continue; }
      low = Math.min(low, value - 2 * (std || 0));
      high = Math.max(high, value + 2 * (std || 0));
    }
    const t = [rows[0][0], Math.max(rows[rows.length - 1][0], rows[0][0] + 1)];
    const { px, py, left, right } = axes(area, t, spread(low, high));
    if (aPriori !== null) {
      c.strokeStyle = colour('a-priori');
      c.setLineDash([4, 3]);
      polyline(c, [[left, py(aPriori)], [right, py(aPriori)]]);
      c.setLineDash([]);
    }
    const sure = rows.filter(([, value, std]) => value !== null && std !== null);
    c.fillStyle = colour('band');
    c.beginPath();
    sure.forEach(([time, value, std]) => c.lineTo(px(time), py(value + 2 * std)));
    [...sure].reverse().forEach(([time, value, std]) => c.lineTo(px(time), py(value - 2 * std)));
    c.fill();
    c.strokeStyle = colour('predicted');
    c.lineWidth = 1.5;
    polyline(c, rows.map(([time, value]) => [px(time), value === null ? null : py(value)]));
    const last = rows[rows.length - 1];
    if (last[1] !== null) {
      c.fillStyle = colour('predicted');
      c.beginPath(); c.arc(px(last[0]), py(last[1]), 2.2, 0, 7); c.fill();
    }
    c.restore();
  };

  /* Rows with a break where time jumps: a line across would claim what nobody measured. */
  const broken = (rows) => {
    const gaps = rows.slice(1).map((row, k) => row[0] - rows[k][0]).sort((a, b) => a - b);
    const long = 5 * (gaps[Math.floor(gaps.length / 2)] || Infinity);
    return rows.flatMap((row, k) => (k && row[0] - rows[k - 1][0] > long ? [[row[0], null], row] : [row]));
  };

  /* series: [{rows: [[time, value]], colour, dots}] */
  const lines = (canvas, series, zero) => {
    const area = prepare(canvas);
    const all = series.flatMap((one) => one.rows).filter(([, value]) => value !== null);
    if (!area || !all.length) { return; }
    const { c } = area;
    let low = zero ? 0 : Infinity; let high = -Infinity; let begin = Infinity; let end = -Infinity;
    for (const [time, value] of all) {
      low = Math.min(low, value); high = Math.max(high, value);
      begin = Math.min(begin, time); end = Math.max(end, time);
    }
    const y = spread(low, high);
    if (zero) { y[0] = 0; }
    const { px, py } = axes(area, [begin, Math.max(end, begin + 1)], y);
    for (const one of series) {
      c.strokeStyle = c.fillStyle = colour(one.colour);
      c.lineWidth = 1.4;
      if (one.dots) {
        for (const [time, value] of one.rows) {
          if (value !== null) { c.beginPath(); c.arc(px(time), py(value), 1.8, 0, 7); c.fill(); }
        }
      } else {
        polyline(c, broken(one.rows).map(([time, value]) => [px(time), value === null ? null : py(value)]));
      }
    }
    c.restore();
  };

  const ellipse = (c, place, pose, scale, ink) => {
    if (!pose.ellipse) { return; }
    c.beginPath();
    // y of a canvas points down, so angles turn the other way
    c.ellipse(place[0], place[1], pose.ellipse.long * scale, pose.ellipse.short * scale, -pose.ellipse.angle, 0, 7);
    c.fillStyle = colour('band'); c.fill();
    c.strokeStyle = ink; c.lineWidth = 1.2; c.stroke();
  };

  const arrow = (c, place, yaw, size, ink) => {
    c.save();
    c.translate(place[0], place[1]); c.rotate(-yaw);
    c.beginPath(); c.moveTo(size, 0); c.lineTo(-0.7 * size, 0.55 * size); c.lineTo(-0.35 * size, 0); c.lineTo(-0.7 * size, -0.55 * size); c.closePath();
    c.fillStyle = ink; c.fill();
    c.restore();
  };

  const scaleBar = (area, scale) => {
    const { c, width, height } = area;
    const raw = width / 4 / scale;
    const power = 10 ** Math.floor(Math.log10(raw));
    const length = [5, 2, 1].map((k) => k * power).find((k) => k <= raw);
    const [x, y] = [12, height - 12];
    c.strokeStyle = c.fillStyle = colour('ink');
    c.lineWidth = 2;
    c.beginPath(); c.moveTo(x, y); c.lineTo(x + length * scale, y); c.stroke();
    c.textAlign = 'left'; c.textBaseline = 'alphabetic';
    c.fillText(length >= 1 ? `${digits(length, 10)} m` : `${digits(1000 * length, 10)} mm`, x, y - 6);
  };

  /* ways: [{rows: [[time, x, y]], pose, colour}], x to the right and y up; `radius` [m] around the
     first pose instead of everything. */
  const map = (canvas, ways, radius) => {
    const area = prepare(canvas);
    const there = ways.filter(({ pose }) => pose.x !== null && pose.y !== null);
    if (!area || !there.length) { return; }
    const { c, width, height } = area;
    const first = there[0].pose;
    let [minX, maxX, minY, maxY] = [first.x - radius, first.x + radius, first.y - radius, first.y + radius];
    if (!radius) {
      for (const [, x, y] of there.flatMap(({ rows, pose }) => [...rows, [0, pose.x, pose.y]])) {
        if (x === null || y === null) { continue; }
        minX = Math.min(minX, x); maxX = Math.max(maxX, x); minY = Math.min(minY, y); maxY = Math.max(maxY, y);
      }
    }
    const least = radius ? 1e-6 : 1;
    const scale = Math.min((width - 40) / Math.max(maxX - minX, least), (height - 50) / Math.max(maxY - minY, least));
    const px = (x) => width / 2 + (x - (minX + maxX) / 2) * scale;
    const py = (y) => height / 2 - 6 - (y - (minY + maxY) / 2) * scale;
    for (const { rows, pose, colour: name } of [...there].reverse()) {
      c.strokeStyle = colour(name);
      c.lineWidth = 1.5;
      polyline(c, [...rows.map(([, x, y]) => [px(x), y === null ? null : py(y)]), [px(pose.x), py(pose.y)]]);
      const place = [px(pose.x), py(pose.y)];
      ellipse(c, place, pose, scale, colour(name));
      arrow(c, place, pose.yaw || 0, 9, colour(name));
    }
    scaleBar(area, scale);
  };

  return { band, lines, map, digits };
})();
