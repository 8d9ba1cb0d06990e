'use strict';
(() => {
  const dark = () => document.documentElement.dataset.theme === 'dark';
  const filled = (select, values) => {
    select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
  };
  // Okabe and Ito's colours, as in all figures.
  const palette = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
  const onDark = ['#56b4e9', '#ff8a3d', '#2fc79a', '#e49cc3', '#e69f00', '#0072b2'];

  document.querySelectorAll('.explorer').forEach((part) => {
    const { series, steps, axis = 'date', noun = 'recordings', category = false } = JSON.parse(part.querySelector('script').textContent);
    const canvas = part.querySelector('.canvas');
    const parameter = part.querySelector('.parameter');
    const machine = part.querySelector('.machine');
    const told = part.querySelector('.told');
    const steady = new Intl.Collator('en', { numeric: true }).compare;
    const different = (key) => [...new Set(series.map((one) => one[key]))];
    const changed = (key) => new Set(steps.map((one) => one[key]));
    const marked = (key, names) => names.map((name) => [name, changed(key).has(name) ? `${name} (changed)` : name]);
    filled(parameter, marked('parameter', different('parameter')));
    filled(machine, [['', 'all machines'], ...marked('machine', different('machine').sort(steady))]);
    if (different('machine').length === 1) {
      machine.value = series[0].machine;
      machine.parentElement.hidden = true;
    }
    if (steps.length) {
      parameter.value = steps[0].parameter;
      machine.value = steps[0].machine;
    }
    const draw = () => {
      if (!window.Plotly) { window.plotlyReady.then(draw, () => {}); return; }
      const colours = dark() ? onDark : palette;
      const ink = dark() ? '#e6e8eb' : '#1b1f24';
      const grid = dark() ? '#373e47' : '#dde1e6';
      const shown = series.filter((one) => one.parameter === parameter.value && (!machine.value || one.machine === machine.value));
      const alone = shown.length === 1;
      const traces = shown.map((one, k) => ({
        x: one.date, y: one.value, name: one.machine, mode: alone ? 'markers' : 'lines+markers',
        type: 'scatter', marker: { color: colours[k % colours.length], size: alone ? 6 : 4 },
        line: { color: colours[k % colours.length], width: 1 },
        error_y: { array: one.std.map((s) => 2 * s), thickness: 1, width: 0, visible: alone },
      }));
      const lines = !alone ? [] : steps.filter((one) => one.parameter === parameter.value && one.machine === machine.value);
      const unit = shown.length && shown[0].unit ? ` [${shown[0].unit}]` : '';
      Plotly.react(canvas, traces, {
        paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', font: { color: ink, size: 12 },
        margin: { l: 60, r: 14, t: 10, b: 44 }, hovermode: 'closest', showlegend: shown.length > 1 && shown.length < 13,
        xaxis: { title: { text: axis }, type: category ? 'category' : undefined, gridcolor: grid, automargin: true, nticks: 6 },
        yaxis: { title: { text: parameter.value + unit }, gridcolor: grid, zerolinecolor: grid, automargin: true, minexponent: 5 },
        shapes: lines.map((one) => ({ type: 'rect', xref: 'x', yref: 'paper', x0: one.last, x1: one.first, y0: 0, y1: 1, fillcolor: 'rgba(230,159,0,0.25)', line: { width: 0 } })),
      }, { displaylogo: false, responsive: true, displayModeBar: false });
      const places = lines.length ? ' Shaded: between these two recordings it changed.' : '';
      told.textContent = alone ? `${shown[0].value.length} ${noun} with 2 sigma.${places}` : `${shown.length} machines.`;
    };
    parameter.addEventListener('change', draw);
    machine.addEventListener('change', draw);
    window.addEventListener('themed', draw);
    draw();
  });

  const rowsOfPage = 50;
  document.querySelectorAll('.listing').forEach((part) => {
    const rows = JSON.parse(part.querySelector('script').textContent);
    const body = part.querySelector('tbody');
    const [verdicts, search, back, on, place] = ['.verdicts', '.search', '.back', '.on', '.place'].map((name) => part.querySelector(name));
    const levels = { yes: 'good', care: 'warn', no: 'bad', unusable: 'bad' };
    const counts = {};
    rows.forEach((row) => { counts[row[0]] = (counts[row[0]] || 0) + 1; });
    filled(verdicts, [['', `all (${rows.length})`], ...Object.entries(counts).map(([name, count]) => [name, `${name} (${count})`])]);
    let page = 0;
    const cell = (text, link, level) => {
      const made = document.createElement('td');
      made.className = text.length > 120 ? 'wordy' : text.length > 30 ? 'long' : 'short';
      const inside = link || level ? document.createElement(link ? 'a' : 'span') : made;
      inside.textContent = text;
      if (link) { inside.href = link; }
      if (level) { inside.className = `flag ${level}`; }
      if (inside !== made) { made.appendChild(inside); }
      return made;
    };
    const show = () => {
      const word = search.value.toLowerCase();
      const kept = rows.filter((row) => (!verdicts.value || row[0] === verdicts.value)
        && (!word || row.some((text) => text.toLowerCase().includes(word))));
      const pages = Math.max(1, Math.ceil(kept.length / rowsOfPage));
      page = Math.min(page, pages - 1);
      body.replaceChildren(...kept.slice(page * rowsOfPage, (page + 1) * rowsOfPage).map((row) => {
        const line = document.createElement('tr');
        line.append(cell(row[0], '', levels[row[0]]), cell(row[1]), cell(row[2]), cell(row[3], row[5]), cell(row[4]));
        return line;
      }));
      place.textContent = `${kept.length} recordings, page ${page + 1} of ${pages}`;
      back.disabled = page === 0;
      on.disabled = page >= pages - 1;
    };
    verdicts.addEventListener('change', () => { page = 0; show(); });
    search.addEventListener('input', () => { page = 0; show(); });
    back.addEventListener('click', () => { page -= 1; show(); });
    on.addEventListener('click', () => { page += 1; show(); });
    show();
  });
})();
