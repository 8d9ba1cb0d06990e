'use strict';
(() => {
  const themes = JSON.parse(document.getElementById('themes').textContent);
  const root = document.documentElement;
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const current = () => chosen || (media.matches ? 'dark' : 'light');

  // Figures name colours by stand-ins; each theme says what they are.
  const themed = (text) => {
    for (const [standIn, colour] of Object.entries(themes[current()])) {
      text = text.replaceAll(standIn, colour);
    }
    return JSON.parse(text);
  };
  const options = {
    displaylogo: false, responsive: true, scrollZoom: false, displayModeBar: 'hover',
    modeBarButtons: [['toImage', 'zoom2d', 'pan2d', 'resetScale2d']],
  };
  // The plotting library is packed into the page: unpack it once, then draw.
  const unpacked = async () => {
    const packed = document.getElementById('plotly');
    if (!packed) { return; }
    const bytes = Uint8Array.from(atob(packed.textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    const script = document.createElement('script');
    script.textContent = await new Response(stream).text();
    document.head.appendChild(script);
    packed.remove();
  };
  const ready = unpacked().catch((error) => {
    document.querySelectorAll('.plot, .canvas').forEach((plot) => {
      plot.textContent = `This browser cannot draw figures (${error.message}); tables and sentences are complete.`;
    });
    throw error;
  });
  window.plotlyReady = ready;
  // On a phone names below bars would lie on each other, and a long legend would take the figure.
  const fitted = (figure, plot) => {
    plot.dataset.height = plot.dataset.height || parseFloat(plot.style.height);
    const narrow = plot.clientWidth < 600 && !('print' in root.dataset);
    let height = Number(plot.dataset.height);
    if (narrow) {
      for (const [name, axis] of Object.entries(figure.layout)) {
        if (/^xaxis\d*$/.test(name) && axis.tickmode === 'linear') {
          delete axis.tickmode;
          delete axis.dtick;
        }
      }
      const named = figure.data.filter((one) => one.name && one.showlegend !== false).length;
      height += named > 8 ? 10 * named : 0;
    }
    plot.style.height = `${height}px`;
    figure.layout.height = height;
    return figure;
  };
  const drawn = new Set();
  const draw = (plot) => {
    if (!window.Plotly) { return ready.then(() => draw(plot)); }
    const source = document.querySelector(`script[data-for="${plot.id}"]`);
    const figure = fitted(themed(source.textContent), plot);
    drawn.add(plot);
    return Plotly.react(plot, figure.data, figure.layout, options);
  };
  const plots = [...document.querySelectorAll('.plot')];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: '400px' });
  const apply = () => {
    root.dataset.theme = current();
    drawn.forEach(draw);
    window.dispatchEvent(new Event('themed'));
  };
  apply();
  plots.forEach((plot) => watcher.observe(plot));
  media.addEventListener('change', apply);
  document.getElementById('theme').addEventListener('click', () => {
    chosen = current() === 'dark' ? 'light' : 'dark';
    apply();
  });

  // Everything is drawn on white paper for the printer, folded parts included.
  let before = null;
  window.addEventListener('beforeprint', () => {
    before = { chosen, open: [...document.querySelectorAll('details:not([open])')].filter((part) => !part.closest('#settings')) };
    before.open.forEach((part) => { part.open = true; });
    chosen = 'light';
    root.dataset.theme = 'light';
    root.dataset.print = '1';
    plots.forEach((plot) => { watcher.unobserve(plot); draw(plot); });
  });
  window.addEventListener('afterprint', () => {
    if (before) {
      chosen = before.chosen;
      delete root.dataset.print;
      before.open.forEach((part) => { part.open = false; });
      before = null;
      apply();
    }
  });
  window.drawAll = () => Promise.all(plots.map((plot) => { watcher.unobserve(plot); return draw(plot); }));

  // Zoom along the horizontal axes with the keyboard, which plotly leaves to the mouse.
  const steps = { '+': [0.25, -0.25], '=': [0.25, -0.25], '-': [-0.5, 0.5], ArrowLeft: [-0.25, -0.25], ArrowRight: [0.25, 0.25] };
  plots.forEach((plot) => plot.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !plot.layout) { return; }
    const names = Object.keys(plot.layout).filter((name) => /^xaxis\d*$/.test(name));
    const change = {};
    names.forEach((name) => {
      if (event.key === '0') {
        change[`${name}.autorange`] = true;
      } else if (steps[event.key] && typeof plot.layout[name].range[0] === 'number') {
        const [low, high] = plot.layout[name].range;
        change[`${name}.range`] = [low + steps[event.key][0] * (high - low), high + steps[event.key][1] * (high - low)];
      }
    });
    if (Object.keys(change).length) {
      event.preventDefault();
      Plotly.relayout(plot, change);
    }
  }));

  const compare = (numeric) => (a, b) => {
    if (a.key === '' || b.key === '') {
      return (a.key === '') - (b.key === '');
    }
    return numeric ? Number(a.key) - Number(b.key) : a.key.localeCompare(b.key, 'en', { numeric: true });
  };
  document.querySelectorAll('table.sortable th button').forEach((button) => {
    button.addEventListener('click', () => {
      const heading = button.parentElement;
      const body = heading.closest('table').tBodies[0];
      const column = Number(button.dataset.column);
      const rising = heading.getAttribute('aria-sort') !== 'ascending';
      const order = compare(button.dataset.numeric === '1');
      const rows = [...body.rows].map((row) => ({ row, key: row.cells[column].dataset.sort }));
      rows.sort((a, b) => (a.key === '' || b.key === '' || rising ? order(a, b) : order(b, a)));
      heading.parentElement.querySelectorAll('th').forEach((th) => th.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', rising ? 'ascending' : 'descending');
      rows.forEach(({ row }) => body.appendChild(row));
    });
  });
  document.querySelectorAll('.copy').forEach((button) => {
    button.addEventListener('click', () => {
      const text = button.parentElement.querySelector('pre').textContent;
      const done = () => { button.textContent = 'copied'; setTimeout(() => { button.textContent = 'copy'; }, 1500); };
      const area = document.createElement('textarea');
      area.value = text;
      document.body.appendChild(area);
      area.select();
      if (document.execCommand('copy')) { done(); }
      area.remove();
    });
  });
})();
