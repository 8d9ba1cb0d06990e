'use strict';
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  let state = null; // what the program said last
  let heard = 0;
  let lost = false;
  let asked = false; // a drawing is under way
  const past = {}; // rows by history
  const seen = { events: 0, rows: () => Object.values(past).reduce((sum, one) => sum + one.rows.length, 0) };
  window.dashboard = seen; // for a look from outside

  // Elements --------------------------------------------------------------------------------------

  const make = (kind, classes, text) => {
    const element = document.createElement(kind);
    if (classes) { element.className = classes; }
    if (text !== undefined) { element.textContent = text; }
    return element;
  };
  const put = (element, text) => { if (element.textContent !== text) { element.textContent = text; } };
  const clad = (element, classes) => { if (element.className !== classes) { element.className = classes; } };
  /* As many children as items, each made once and filled anew. */
  const list = (parent, items, create, fill) => {
    while (parent.children.length > items.length) { parent.lastElementChild.remove(); }
    items.forEach((item, k) => {
      const child = parent.children[k] || parent.appendChild(create());
      fill(child, item);
    });
  };
  /* Parts of what is no longer there go: they would look alive. */
  const keep = (parts, there) => {
    parts.forEach((view, key) => { if (!there.has(key)) { view.part.remove(); parts.delete(key); } });
  };
  const shown = (value, unit = '', step = 0) => (value === null || value === undefined ? '–' : plots.digits(value, step) + (unit ? ` ${unit}` : ''));
  const whole = (value) => (value === null || value === undefined ? '–' : String(Math.round(value)));
  const hertz = (value) => (value === null ? '' : `${value.toFixed(value < 100 ? 1 : 0)} Hz`);
  const relative = (value) => (value === null || value >= 1000 ? '> 999 %' : `${Number(value.toPrecision(2))} %`);
  const seconds = (value) => (value < 10 ? value.toFixed(1) : value.toFixed(0));
  const short = (value) => {
    if (value === null || value === undefined) { return '–'; }
    return Math.abs(value) < 1 ? `${(1000 * value).toFixed(1)} ms` : `${value.toFixed(2)} s`;
  };

  // Parts of a node -------------------------------------------------------------------------------

  const statement = () => {
    const line = make('li');
    line.append(make('span', 'mark'), make('span', 'text'));
    return line;
  };
  const fillStatement = (line, one) => {
    clad(line, one.level || 'said');
    line.title = one.code || '';
    put(line.lastElementChild, one.text);
  };

  const card = () => {
    const made = make('div', 'card');
    made.append(make('div', 'label'), make('div', 'value'), make('div', 'remark'));
    return made;
  };
  const fillCard = (made, [label, value, remark]) => {
    put(made.children[0], label); put(made.children[1], value); put(made.children[2], remark || '');
  };
  const cards = (node) => {
    const found = [];
    const e = node.estimate;
    if (e) {
      const known = e.parameters.filter((one) => one.well).length;
      found.push(['deviation below 10 %', `${known} of ${e.parameters.length}`, e.left_out ? `parameters; ${e.left_out} further ones have no room` : 'parameters']);
      found.push(['samples', String(e.samples), e.rejected ? `${e.rejected} rejected` : '']);
      found.push(['condition number', shown(e.condition), e.estimator]);
      found.push(['converged', e.converged ? 'yes' : 'not yet', '']);
    }
    const facts = node.facts;
    const latency = ['latency p50 [ms]', 'latency p99 [ms]', 'latency worst [ms]'].map((key) => facts[key]);
    if (latency[0] !== undefined) {
      found.push(['latency', `${latency[0]} ms`, `99 %: ${latency[1]} ms, worst: ${latency[2]} ms`]);
    }
    if (facts['latency [s]'] !== undefined) { found.push(['chosen lag', `${facts['latency [s]']} s`, 'of the estimate']); }
    if (facts['real-time factor'] !== undefined) {
      found.push(['real-time factor', facts['real-time factor'], `processor: ${facts['processor share'] || '–'} of a core`]);
    }
    return found;
  };

  const sensorColumns = [
    ['sensor', ''], ['topic', 'wide'], ['rate', 'number'], ['lag', 'number'], ['accepted', 'number wide'],
    ['rejected', 'number'], ['late', 'number wide'], ['invalid', 'number wide'], ['waiting', 'number wide'],
    ['quarantine', ''], ['', 'wide'],
  ];
  const sensorTable = () => {
    const table = make('table', 'full sensors');
    const top = table.createTHead().insertRow();
    sensorColumns.forEach(([title, classes]) => top.append(make('th', classes, title)));
    table.createTBody();
    return table;
  };
  const sensorRow = () => {
    const row = make('tr');
    sensorColumns.forEach(([, classes]) => row.append(make('td', classes)));
    row.firstElementChild.append(make('span', 'lamp'), make('span'));
    return row;
  };
  const fillSensorRow = (row, one) => {
    const [name, topic, rate, lag, accepted, rejected, late, invalid, waiting, aside, text] = row.children;
    clad(name.firstElementChild, `lamp ${one.lamp}`);
    put(name.lastElementChild, one.name);
    put(topic, one.topic); put(rate, hertz(one.rate) || '–');
    put(lag, one.lag === null ? '–' : (one.relative ? '+' : '') + short(one.lag));
    lag.title = one.relative ? 'behind the newest stamp of any sensor: the clock is another one' : 'from header stamp to arrival, median';
    put(accepted, whole(one.accepted)); put(rejected, whole(one.rejected)); put(late, whole(one.late));
    put(invalid, whole(one.invalid)); put(waiting, whole(one.waiting));
    put(aside, one.quarantined ? 'set aside' : one.quarantines ? `${one.quarantines} times` : 'no');
    put(text, one.text);
    row.title = one.text;
  };
  const lampChip = () => {
    const chip = make('li');
    chip.append(make('span', 'lamp'), make('span'), make('span', 'rate'));
    return chip;
  };
  const fillLampChip = (chip, one) => {
    clad(chip, one.quarantined ? 'aside' : '');
    clad(chip.children[0], `lamp ${one.lamp}`);
    put(chip.children[1], one.name);
    put(chip.children[2], hertz(one.rate));
    chip.title = one.text || one.lamp;
  };

  const parameterBox = () => {
    const box = make('div', 'parameter');
    const top = make('div', 'top');
    top.append(make('span', 'name'), make('span', 'flag'));
    const canvas = make('canvas');
    canvas.setAttribute('role', 'img');
    box.append(top, make('div', 'value'), canvas);
    return box;
  };
  const fillParameter = (box, one) => {
    clad(box, one.excited ? 'parameter' : 'parameter unexcited');
    const flag = box.firstElementChild.lastElementChild;
    put(box.firstElementChild.firstElementChild, one.name);
    clad(flag, `flag ${!one.excited || one.std === null ? 'note' : one.well ? 'good' : 'warn'}`);
    put(flag, !one.excited ? 'not excited' : one.std === null ? 'no deviation' : relative(one.relative));
    flag.title = 'deviation relative to the value; means little for values near zero';
    const spread = one.std === null ? '' : ` ± ${plots.digits(one.std, one.std)}`;
    const text = one.value === null ? '–' : `${plots.digits(one.value, one.std)}${spread} ${one.unit}`;
    put(box.children[1], text);
    box.lastElementChild.setAttribute('aria-label', `${one.name} over time: ${text}`);
  };

  const nodes = new Map();
  const makeNode = (name) => {
    const part = make('section', 'node');
    const title = make('h2', '', '');
    title.append(make('span', '', name), make('span', 'age'));
    const verdict = make('div', 'verdict');
    verdict.append(make('span', 'headline'), make('span', 'mode'));
    const advice = make('p', 'advice');
    advice.append(make('b', '', 'Next:'), ' ', make('span'));
    const statements = make('ul', 'statements');
    const figures = make('div', 'cards');
    const parameters = make('div');
    const legend = make('p', 'legend');
    legend.append('estimate', make('span', 'key band'), '± 2 sigma', make('span', 'key a-priori'), 'a priori');
    legend.prepend(make('span', 'key'));
    const box = make('input');
    box.type = 'checkbox';
    const label = make('label', 'choice');
    label.append(box, ' hide what is not excited');
    label.hidden = true;
    legend.append(label);
    const boxes = make('div', 'parameters');
    box.addEventListener('change', () => { boxes.classList.toggle('excited', box.checked); draw(); });
    parameters.append(make('h3', '', 'Parameters'), legend, boxes);
    const sensors = make('div');
    const folded = make('details');
    const scroll = make('div', 'scroll');
    scroll.tabIndex = 0;
    scroll.append(sensorTable());
    folded.append(make('summary', '', 'rates, lags, counts'), scroll);
    sensors.append(make('h3', '', 'Sensors'), make('ul', 'lamps'), folded);
    const latency = make('div', 'line');
    const key = make('p', 'legend');
    key.append(make('span', 'key'), 'median', make('span', 'key a-priori'), '99 %', make('span', 'key error'), 'worst [ms]');
    latency.append(make('h3', '', 'Latency'), key, make('canvas'));
    const sides = make('div', 'line');
    const choice = make('select');
    choice.setAttribute('aria-label', 'equation');
    choice.addEventListener('change', draw);
    const sidesKey = make('p', 'legend');
    sidesKey.append(choice, make('span', 'key measured'), 'measured', make('span', 'key error'), 'predicted');
    sides.append(make('h3', '', 'Both sides of the equations'), sidesKey, make('canvas'));
    const facts = make('details');
    const table = make('table');
    table.createTBody();
    const factScroll = make('div', 'scroll');
    factScroll.tabIndex = 0;
    factScroll.append(table);
    facts.append(make('summary', '', 'everything else in the diagnostics'), factScroll);
    part.append(title, verdict, advice, statements, figures, sensors, parameters, latency, sides, facts);
    find('nodes').append(part);
    return { part, title, verdict, advice, statements, figures, parameters, sensors, latency, sides, facts, opened: false };
  };

  const fillNode = (view, node) => {
    const live = state.source.state === 'live';
    const stale = live && node.stale;
    clad(view.part, stale ? 'node stale' : 'node');
    put(view.title.lastElementChild, stale ? `not heard for ${seconds(node.age)} s: what stands here is old` : '');
    clad(view.verdict, `verdict ${node.level}`);
    put(view.verdict.firstElementChild, node.headline || 'no verdict yet');
    put(view.verdict.lastElementChild, node.mode);
    view.advice.hidden = !node.advice;
    put(view.advice.lastElementChild, node.advice);
    const findings = node.findings.length || node.level === 'good' || !node.text || node.text === node.headline
      ? node.findings : [{ level: node.level, text: node.text }];
    // what is to do next stands above already
    list(view.statements, findings.filter((one) => one.text !== node.advice), statement, fillStatement);
    list(view.figures, cards(node), card, fillCard);
    view.sensors.hidden = !node.sensors.length;
    list(view.sensors.children[1], node.sensors, lampChip, fillLampChip);
    list(view.sensors.querySelector('tbody'), node.sensors, sensorRow, fillSensorRow);
    if (!view.opened && node.sensors.length) {
      view.opened = true;
      view.sensors.lastElementChild.open = node.sensors.length <= 16;
    }
    view.parameters.hidden = !node.estimate;
    if (node.estimate) {
      list(view.parameters.lastElementChild, node.estimate.parameters, parameterBox, fillParameter);
      view.parameters.querySelector('label').hidden = node.estimate.parameters.every((one) => one.excited);
    }
    view.latency.hidden = !(past[`latency ${node.bare}`] || { rows: [] }).rows.length;
    view.sides.hidden = !node.equations.length;
    list(view.sides.querySelector('select'), node.equations, () => make('option'), (option, one) => {
      put(option, one.unit ? `${one.name} [${one.unit}]` : one.name); option.value = one.name;
    });
    const facts = Object.entries(node.facts);
    view.facts.hidden = !facts.length;
    list(view.facts.querySelector('tbody'), facts, () => { const row = make('tr'); row.append(make('td'), make('td')); return row; },
      (row, [key, value]) => { put(row.children[0], key); put(row.children[1], value); });
  };

  // The way ---------------------------------------------------------------------------------------

  const COLOURS = ['predicted', 'error', 'a-priori', 'measured', 'muted'];
  const OURS = /(^|\/)odometry\/(observed|fused|continuous)$/;
  /* Poses of one frame belong on one map; those of our nodes, and with an uncertainty, come first. */
  const rank = (track) => 2 * (track.ellipse === null) + !OURS.test(track.topic);
  const maps = () => {
    const frames = new Map();
    for (const track of state.tracks) {
      frames.set(track.frame, [...(frames.get(track.frame) || []), track]);
    }
    frames.forEach((group) => group.sort((a, b) => rank(a) - rank(b)));
    return frames;
  };
  const views = new Map();
  const makeMap = (frame) => {
    const part = make('section', 'map');
    const pair = make('div', 'pair');
    const canvases = ['the whole way', 'around the vehicle: ellipse of 95 % by its own covariance'].map((text) => {
      const figure = make('figure');
      const canvas = make('canvas');
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', `map of ${frame}: ${text}`);
      figure.append(canvas, make('figcaption', '', text));
      pair.append(figure);
      return canvas;
    });
    const figures = make('div', 'cards');
    const legend = make('p', 'legend');
    part.append(make('h2', '', `Map of ${frame || 'an unnamed frame'}`), legend, figures, pair);
    find('tracks').append(part);
    return { part, figures, legend, canvases };
  };
  const degrees = (value) => (value === null ? null : value * 180 / Math.PI);
  const fillMap = (view, group) => {
    list(view.legend, group, () => { const one = make('span'); one.append(make('span', 'key'), make('span')); return one; },
      (one, track) => {
        const old = state.source.state === 'live' && track.age > 3 ? ` (not heard for ${seconds(track.age)} s)` : '';
        clad(one.firstElementChild, `key ${COLOURS[group.indexOf(track) % COLOURS.length]}`);
        put(one.lastElementChild, track.topic + old);
      });
    const [track] = group;
    const e = track.ellipse;
    view.canvases[1].parentElement.hidden = !e;
    clad(view.canvases[0].parentElement.parentElement, e ? 'pair' : '');
    list(view.figures, [
      ['place', `${shown(track.x, '', 0.1)}, ${shown(track.y, '', 0.1)} m`, track.child ? `of ${track.child}` : ''],
      ['95 % ellipse', e ? ellipseText(e) : 'no covariance', e ? 'half axes' : ''],
      ['heading', `${shown(degrees(track.yaw), '°', 1)}`, track.yaw_std === null ? '' : `± ${shown(degrees(track.yaw_std), '°', 0.1)} (1 sigma)`],
      ['speed', shown(track.speed, 'm/s', 0.1), ''],
      ['lag', short(track.lag), track.relative ? 'behind the newest sensor' : 'from its stamp to its arrival'],
    ], card, fillCard);
  };
  const ellipseText = ({ long, short: narrow }) => {
    const [scale, unit] = long < 1 ? [1000, 'mm'] : [1, 'm'];
    return `${plots.digits(scale * long, scale * long)} × ${plots.digits(scale * narrow, scale * long)} ${unit}`;
  };

  // Drawing ---------------------------------------------------------------------------------------

  const columnsOf = (key, names) => {
    const history = past[key];
    if (!history) { return []; }
    const places = names.map((name) => history.columns.indexOf(name) + 1);
    if (places.includes(0)) { return []; }
    return history.rows.map((row) => [row[0], ...places.map((place) => (row[place] === undefined ? null : row[place]))]);
  };

  const drawNode = (view, node) => {
    if (node.estimate) {
      node.estimate.parameters.forEach((one, k) => {
        const rows = columnsOf(`parameters ${node.name}`, [one.name, `${one.name} std`]);
        if (rows.length && node.estimate.time > rows[rows.length - 1][0]) { rows.push([node.estimate.time, one.value, one.std]); }
        plots.band(view.parameters.lastElementChild.children[k].lastElementChild, rows, one.a_priori);
      });
    }
    if (!view.latency.hidden) {
      const rows = columnsOf(`latency ${node.bare}`, ['p50', 'p99', 'worst']);
      plots.lines(view.latency.lastElementChild, ['predicted', 'a-priori', 'error'].map((colour, k) => ({
        colour, rows: rows.map((row) => [row[0], row[k + 1]]),
      })), true);
    }
    if (!view.sides.hidden) {
      const name = view.sides.querySelector('select').value;
      const rows = columnsOf(`sides ${node.name}`, [name, `${name} predicted`]);
      plots.lines(view.sides.lastElementChild, [
        { colour: 'measured', dots: true, rows: rows.map((row) => [row[0], row[1]]) },
        { colour: 'error', rows: rows.map((row) => [row[0], row[2]]) },
      ], false);
    }
  };

  const drawAll = () => {
    asked = false;
    if (!state) { return; }
    state.nodes.forEach((node) => drawNode(nodes.get(node.name), node));
    maps().forEach((group, frame) => {
      const view = views.get(frame);
      const ways = group.map((track, k) => ({
        pose: track, colour: COLOURS[k % COLOURS.length], rows: columnsOf(`track ${track.topic}`, ['x', 'y']),
      }));
      plots.map(view.canvases[0], ways, 0);
      if (group[0].ellipse) { plots.map(view.canvases[1], ways, Math.max(2.5 * group[0].ellipse.long, 1e-3)); }
    });
  };
  function draw() {
    if (!asked) { asked = true; requestAnimationFrame(drawAll); }
  }

  // What the program says -------------------------------------------------------------------------

  const sourceText = (source) => {
    const played = source.duration ? `${seconds(source.position)} of ${seconds(source.duration)} s` : '';
    if (source.state === 'ended') { return `${source.text}: the recording is over (${played})`; }
    return source.state === 'playing' ? `${source.text}: ${played}` : `live: ${source.text}`;
  };

  const take = (told) => {
    for (const [key, part] of Object.entries(told.past)) {
      if (part.columns) { past[key] = part; } else { past[key].rows.push(...part.rows); }
    }
    delete told.past;
    state = told;
    heard = Date.now();
    seen.events += 1;
    put(find('source'), sourceText(told.source));
    put(find('program'), told.program + (told.left_out ? `; ${told.left_out} messages had no room on this page` : ''));
    find('waiting').hidden = told.nodes.length + told.tracks.length > 0;
    keep(nodes, new Set(told.nodes.map((node) => node.name)));
    for (const node of told.nodes) {
      if (!nodes.has(node.name)) { nodes.set(node.name, makeNode(node.name)); }
      fillNode(nodes.get(node.name), node);
    }
    keep(views, maps());
    maps().forEach((group, frame) => {
      if (!views.has(frame)) { views.set(frame, makeMap(frame)); }
      fillMap(views.get(frame), group);
    });
    const others = find('others');
    others.hidden = !told.others.length;
    list(others.lastElementChild, told.others, statement, (line, one) => fillStatement(line, { level: one.lamp, text: `${one.name}: ${one.text}` }));
    trouble();
    draw();
  };

  const trouble = () => {
    const silent = heard && Date.now() - heard > 4000;
    const words = [...(state ? state.notes : [])];
    if (lost || silent) {
      words.unshift(`The program does not answer. What stands here is of ${heard ? new Date(heard).toLocaleTimeString() : 'nobody'}.`);
    }
    if (state && state.source.problem) { words.unshift(state.source.problem); }
    find('trouble').hidden = !words.length;
    put(find('trouble'), words.join(' '));
  };

  const listen = () => {
    const events = new EventSource('/events');
    events.onopen = () => {
      lost = false;
      // perhaps another program: it tells everything again
      Object.keys(past).forEach((key) => delete past[key]);
      trouble();
    };
    events.onerror = () => {
      lost = true;
      trouble();
      if (events.readyState === EventSource.CLOSED) { setTimeout(listen, 2000); }
    };
    events.onmessage = (event) => take(JSON.parse(event.data));
  };

  const theme = () => {
    root.dataset.theme = chosen || (media.matches ? 'dark' : 'light');
    draw();
  };
  find('theme').addEventListener('click', () => {
    chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
    theme();
  });
  media.addEventListener('change', theme);
  window.addEventListener('resize', draw);
  document.addEventListener('toggle', draw, true);
  setInterval(trouble, 1000);
  theme();
  listen();
})();
