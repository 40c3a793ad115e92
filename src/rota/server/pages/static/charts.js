// Charts by uPlot: an element with `data-chart` has its points, which change in place.
"use strict";

(() => {
  const plots = new WeakMap();

  // A colour of the theme: custom properties are told unresolved, those of an element are not.
  function colour(name) {
    const probe = document.createElement("i");
    probe.className = name;
    document.body.append(probe);
    const found = getComputedStyle(probe).backgroundColor;
    probe.remove();
    return found;
  }

  function axis(values, size) {
    const soft = getComputedStyle(Rota.find("footer")).color;
    return { stroke: soft, grid: { show: false }, ticks: { show: false }, font: "11px system-ui", values, size, space: 60 };
  }

  const two = (number) => String(number).padStart(2, "0");
  const clock = (_, ticks, __, ___, step) => ticks.map((s) => {
    const at = new Date(s * 1000);
    return `${two(at.getHours())}:${two(at.getMinutes())}${step < 60 ? `:${two(at.getSeconds())}` : ""}`;
  });
  const short = (s) => (s < 1 ? `${Math.round(s * 1000)} ms` : s < 60 ? `${+s.toFixed(1)} s` : `${+(s / 60).toFixed(1)} min`);
  const seconds = (_, ticks) => ticks.map((s) => (s === null ? "" : short(s)));
  const whole = (_, ticks) => ticks.map((n) => (Number.isInteger(n) ? n.toLocaleString("en") : ""));

  function faint(name) { return colour(name).replace("rgb(", "rgba(").replace(")", ", .16)"); }

  const dots = (name) => ({ stroke: colour(name), paths: () => null, points: { show: true, size: 5, fill: faint(name) } });

  const kinds = {
    throughput: () => ({
      scales: { y: { range: (_, low, high) => [0, Math.max(high, 4)] } },
      axes: [axis(clock, 28), axis(whole, 46)],
      series: [{}, { stroke: colour("k-ok"), fill: faint("k-ok"), width: 1.8, points: { show: false } },
        { stroke: colour("k-bad"), fill: faint("k-bad"), width: 1.5, points: { show: false } }],
    }),
    latency: () => ({
      scales: { y: { distr: 3, log: 10 } },  // from a millisecond to hours: each step is ten times the one below
      axes: [axis(clock, 28), axis(seconds, 54)],
      series: [{}, dots("k-wait"), dots("k-run")],
    }),
  };

  function draw(element) {
    const points = JSON.parse(element.dataset.points);
    const place = Rota.find(".plot", element);
    const known = plots.get(element);
    if (known) return known.told === element.dataset.points || (known.plot.setData(points), known.told = element.dataset.points);
    const options = { width: place.clientWidth, height: 170, cursor: { show: false }, legend: { show: false }, ...kinds[element.dataset.chart]() };
    plots.set(element, { plot: new uPlot(options, points, place), told: element.dataset.points });
  }

  function drawAll() { Rota.all("[data-chart]").forEach(draw); }

  function again() {
    for (const element of Rota.all("[data-chart]")) {
      plots.get(element)?.plot.destroy();
      plots.delete(element);
      draw(element);
    }
  }

  document.addEventListener("rota:shown", drawAll);
  document.addEventListener("rota:theme", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("resize", again);
  drawAll();
})();
