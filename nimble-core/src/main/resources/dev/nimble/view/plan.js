'use strict';
(() => {
const root = document.documentElement;
root.dataset.errors = '0';
addEventListener('error', () => { root.dataset.errors = String(1 + Number(root.dataset.errors)); });

const D = JSON.parse(document.getElementById('data').textContent);
const N = D.nodes;
const $ = id => document.getElementById(id);

// ---- text ---------------------------------------------------------------------------------------

/** Text with what would not be seen, or would turn the text around it, written out. */
const shown = text => String(text).replace(
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]/gu,
  c => '\\u{' + c.codePointAt(0).toString(16) + '}');
const digits = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
const time = ns => ns < 1e3 ? Math.round(ns) + ' ns' : ns < 1e6 ? digits(ns / 1e3) + ' µs'
  : ns < 1e10 ? digits(ns / 1e6) + ' ms' : digits(ns / 1e9) + ' s';
const bytes = b => {
  let unit = 0;
  while (b >= 1024 && unit < 5) { b /= 1024; unit++; }
  return (unit ? b.toFixed(b < 10 ? 2 : 1) : b) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit];
};
const count = (n, noun) => n + ' ' + noun + (n === 1 ? '' : 's');
function element(parent, tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
}

// ---- what is derived from the data --------------------------------------------------------------

const streams = D.colours.length;
const onPath = new Set(D.bounds.path);
const successors = N.map(() => []);
N.forEach((n, v) => n.predecessors.forEach(p => successors[p].push(v)));
const waitsFor = N.map(() => []);
D.syncs.forEach(([from, to]) => waitsFor[to].push(from));
const boxesOf = N.map(() => []);
D.arena.forEach(box => boxesOf[box.node].push(box));
const L = D.layout;
const longest = Math.max(1, ...N.map(n => n.end - n.start));
const duration = n => n.timed ? time(n.end - n.start) : n.view ? 'view' : 'not timed';
N.forEach((n, v) => {
  n.id = v;
  n.left = n.x - L.nodeWidth / 2;
  n.top = n.layer * L.layerHeight;
  n.search = (n.name + '\n' + n.op + '\n' + n.inputs.concat(n.outputs).map(x => x.name).join('\n')).toLowerCase();
});

// ---- state that all pictures share --------------------------------------------------------------

let selected = -1;
let hovered = -1;
let matches = new Set();
let moment = null; // the time under the pointer
let colour = {};
const pictures = [];
let queued = false;
let ready = false; // all pictures are made
function redraw() {
  if (!queued) {
    queued = true;
    requestAnimationFrame(() => { queued = false; pictures.forEach(p => p.paint()); });
  }
}
function readColours() {
  const style = getComputedStyle(root);
  for (const name of ['back', 'panel', 'ink', 'muted', 'line', 'edge', 'sync', 'path', 'mark', 'find', 'rest']) {
    colour[name] = style.getPropertyValue('--' + name).trim();
  }
  redraw();
}
const FONT = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif';
const ON_COLOUR = '#14171a'; // text on a stream's colour, which is light under both schemes

const widths = new Map();
function widthOf(g, text) { // for the font that is set
  const key = g.font + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    width = g.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
function elided(g, text, width) {
  if (widthOf(g, text) <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(g, text.slice(0, middle) + '…') <= width) low = middle; else high = middle - 1;
  }
  return low > 0 ? text.slice(0, low) + '…' : '';
}

/** A canvas in CSS pixels at the screen's resolution. */
class Picture {
  constructor(id) {
    this.canvas = $(id);
    this.g = this.canvas.getContext('2d');
    this.width = this.height = 0;
    pictures.push(this);
    new ResizeObserver(() => { this.resize(); if (ready) this.paint(); }).observe(this.canvas.parentElement);
    this.resize();
  }
  resize() {
    const box = this.canvas.getBoundingClientRect();
    const before = this.width;
    this.width = box.width; this.height = box.height;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(box.width * ratio));
    this.canvas.height = Math.max(1, Math.round(box.height * ratio));
    if (this.resized) this.resized(before);
  }
  paint() {
    const ratio = devicePixelRatio || 1;
    this.g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.g.clearRect(0, 0, this.width, this.height);
    this.draw(this.g);
  }
  /** Drag, wheel, pinch, hover, click, and the same by keys. */
  listen() {
    const c = this.canvas, at = e => { const b = c.getBoundingClientRect(); return [e.clientX - b.left, e.clientY - b.top]; };
    const down = new Map();
    let moved = 0;
    c.addEventListener('pointerdown', e => { c.setPointerCapture(e.pointerId); down.set(e.pointerId, at(e)); if (down.size === 1) moved = 0; });
    c.addEventListener('pointermove', e => {
      const [x, y] = at(e), old = down.get(e.pointerId);
      if (!old) { this.hover(x, y, e); return; }
      if (down.size === 2) {
        const other = [...down].find(([id]) => id !== e.pointerId)[1];
        const before = Math.hypot(old[0] - other[0], old[1] - other[1]), now = Math.hypot(x - other[0], y - other[1]);
        if (before > 4) this.zoom(now / before, other[0], other[1], false);
      } else { this.pan(x - old[0], y - old[1]); }
      moved += Math.abs(x - old[0]) + Math.abs(y - old[1]);
      down.set(e.pointerId, [x, y]);
      tip(null); redraw();
    });
    const up = e => { down.delete(e.pointerId); if (moved < 5 && e.type === 'pointerup') select(this.hit(...at(e)), this); moved = 0; };
    c.addEventListener('pointerup', up);
    c.addEventListener('pointercancel', up);
    c.addEventListener('pointerleave', () => { if (!down.size) { hovered = -1; moment = null; tip(null); redraw(); } });
    c.addEventListener('wheel', e => {
      e.preventDefault();
      const unit = e.deltaMode === 1 ? 33 : 1;
      this.zoom(Math.exp(-(e.deltaY || e.deltaX) * unit * 0.0016), ...at(e), e.shiftKey);
      redraw();
    }, { passive: false });
    c.addEventListener('dblclick', () => { this.fit(); redraw(); });
    c.addEventListener('keydown', e => {
      const step = 60, middle = [this.width / 2, this.height / 2];
      const keys = {
        ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0), ArrowUp: () => this.pan(0, step),
        ArrowDown: () => this.pan(0, -step), '+': () => this.zoom(1.25, ...middle, false), '-': () => this.zoom(0.8, ...middle, false),
        '0': () => this.fit(), Escape: () => select(-1),
      };
      if (keys[e.key]) { e.preventDefault(); keys[e.key](); redraw(); }
    });
  }
  hover(x, y, e) {
    const found = this.hit(x, y);
    this.canvas.classList.toggle('pick', found >= 0);
    const time = this.timeAt ? this.timeAt(x) : null;
    if (found !== hovered || time !== moment) { hovered = found; moment = time; redraw(); }
    tip(found < 0 ? null : found, e, this.boxAt ? this.boxAt(x, y) : null);
  }
}

// ---- the DAG ------------------------------------------------------------------------------------

/** The way of an edge: down between layers in curves, straight past a layer. */
function route(path, p, v) {
  const from = N[p], to = N[v], h = L.nodeHeight, between = to.layer - from.layer - 1;
  let x = from.x, y = from.top + h;
  path.moveTo(x, y);
  const curve = (nx, ny) => { const m = (y + ny) / 2; path.bezierCurveTo(x, m, nx, m, nx, ny); x = nx; y = ny; };
  if (between <= from.bends.length) {
    for (let i = 0; i < between; i++) {
      const top = (from.layer + 1 + i) * L.layerHeight;
      curve(from.bends[i], top);
      y = top + h;
      path.lineTo(x, y);
    }
  }
  curve(to.x, to.top);
}

/** Edges of one kind, in bands of layers, so that only those in sight are drawn. */
class Edges {
  constructor() { this.bands = []; }
  add(p, v) {
    const band = this.bands[N[p].layer >> 3] ??= { path: new Path2D(), top: N[p].top, bottom: 0 };
    band.top = Math.min(band.top, N[p].top); band.bottom = Math.max(band.bottom, N[v].top);
    route(band.path, p, v);
  }
  stroke(g, top, bottom, style, width, dash) {
    g.strokeStyle = style; g.lineWidth = width; g.setLineDash(dash);
    this.bands.forEach(band => { if (band.top <= bottom && band.bottom >= top) g.stroke(band.path); });
    g.setLineDash([]);
  }
}

class Dag extends Picture {
  constructor() {
    super('dag');
    this.scale = 1; this.x = 0; this.y = 0; // the world's point in the upper left corner
    this.bottom = Math.max(1, L.layers) * L.layerHeight - (L.layerHeight - L.nodeHeight);
    this.plain = new Edges(); this.synced = new Edges(); this.critical = new Edges();
    N.forEach((n, v) => n.predecessors.forEach(p => this.plain.add(p, v)));
    D.syncs.forEach(([from, to]) => this.synced.add(from, to));
    D.bounds.path.forEach((v, i) => { if (i) this.critical.add(D.bounds.path[i - 1], v); });
    this.listen();
    this.start();
  }
  whole() { return Math.min(this.width / (L.width + 40), this.height / (this.bottom + 40)); }
  fit() {
    this.scale = Math.min(1.4, this.whole());
    this.x = L.width / 2 - this.width / this.scale / 2;
    this.y = this.bottom / 2 - this.height / this.scale / 2;
  }
  /** Large enough to read, from the top. */
  start() {
    this.fit();
    if (this.scale < 0.6 && N.length) {
      this.scale = Math.max(0.62, Math.min(1, this.width / (L.width + 130)));
      this.y = -16 / this.scale;
      const wide = L.width > this.width / this.scale;
      this.x = (wide ? N[D.bounds.path[0] || 0].x : L.width / 2) - (this.width - (wide ? 0 : 90)) / this.scale / 2;
      if (wide) this.x = Math.max(-20, this.x);
    }
    this.started = this.width > 0;
  }
  resized(before) {
    if (this.plain && !this.started) this.start();
    else if (before && this.width) this.x += (before - this.width) / this.scale / 2;
  }
  pan(dx, dy) { this.x -= dx / this.scale; this.y -= dy / this.scale; }
  zoom(factor, cx, cy) {
    const scale = Math.max(Math.min(0.02, this.whole()), Math.min(4, this.scale * factor));
    this.x += cx / this.scale - cx / scale; this.y += cy / this.scale - cy / scale;
    this.scale = scale;
  }
  hit(sx, sy) {
    const x = this.x + sx / this.scale, y = this.y + sy / this.scale;
    for (let v = N.length - 1; v >= 0; v--) {
      const n = N[v];
      if (x >= n.left && x <= n.left + L.nodeWidth && y >= n.top && y <= n.top + L.nodeHeight) return v;
    }
    return -1;
  }
  reveal(v) {
    const n = N[v], hidden = $('details').hidden ? 0 : $('details').offsetHeight;
    if (this.scale < 0.5) this.scale = 0.8;
    const x = (n.x - this.x) * this.scale, y = (n.top - this.y) * this.scale;
    const room = this.height - hidden;
    if (x < 80 || x > this.width - 150 || y < 20 || y > room - 60) {
      this.x = n.x - (this.width - 90) / 2 / this.scale; this.y = n.top - room * 0.45 / this.scale;
    }
  }
  draw(g) {
    const s = this.scale, legible = s * L.nodeHeight > 12;
    g.save();
    g.scale(s, s); g.translate(-this.x, -this.y);
    const right = this.x + this.width / s, low = this.y + this.height / s;
    const stroke = (edges, style, width, dash) => edges.stroke(g, this.y, low, style, width / s, (dash || []).map(d => d / s));
    const thin = Math.min(1, 0.4 + s * 1.5);
    g.globalAlpha = selected >= 0 ? 0.35 : Math.min(0.9, 0.25 + 1.5 * s);
    stroke(this.plain, colour.edge, thin);
    if ($('show-syncs').checked) stroke(this.synced, colour.sync, 1.5 * thin, s < 0.25 ? [] : [5, 4]);
    if ($('show-path').checked) stroke(this.critical, colour.path, 2.5);
    g.globalAlpha = 1;
    const near = new Set();
    if (selected >= 0) {
      const own = new Edges();
      N[selected].predecessors.forEach(p => { near.add(p); own.add(p, selected); });
      successors[selected].forEach(v => { near.add(v); own.add(selected, v); });
      stroke(own, colour.mark, 2.2);
    }
    for (const n of N) {
      if (n.left > right || n.left + L.nodeWidth < this.x || n.top > low || n.top + L.nodeHeight < this.y) continue;
      this.box(g, n, legible, selected < 0 || n.id === selected || near.has(n.id));
    }
    g.restore();
  }
  box(g, n, legible, clear) {
    const w = L.nodeWidth, h = L.nodeHeight, s = this.scale;
    g.beginPath(); g.roundRect(n.left, n.top, w, h, 5);
    g.fillStyle = colour.panel; g.fill(); // so that edges do not shine through
    g.globalAlpha = clear ? 1 : 0.4;
    g.fillStyle = n.timed ? D.colours[n.stream] : colour.back; g.fill();
    const chosen = n.id === selected, found = matches.has(n.id), path = $('show-path').checked && onPath.has(n.id);
    g.strokeStyle = chosen ? colour.mark : found ? colour.find : path ? colour.path : n.id === hovered ? colour.ink : colour.edge;
    g.lineWidth = (chosen || found ? 3 : path || n.id === hovered ? 2 : 0.8) / Math.max(s, 0.4);
    if (!n.timed && !chosen && !found) { g.setLineDash([3, 3]); }
    g.stroke(); g.setLineDash([]);
    if (legible) {
      g.globalAlpha = clear ? 1 : 0.7;
      g.fillStyle = n.timed && clear ? ON_COLOUR : colour.ink; g.textAlign = 'center'; g.textBaseline = 'middle';
      g.font = '600 12px ' + FONT;
      g.fillText(elided(g, shown(n.op), w - 10), n.x, n.top + 11.5);
      g.font = '10px ' + FONT;
      g.fillText(duration(n), n.x, n.top + 23.5);
      if (n.timed) {
        g.globalAlpha *= 0.6;
        g.fillRect(n.left + 5, n.top + h - 4, (w - 10) * (n.end - n.start) / longest, 2.5);
      }
    }
    g.globalAlpha = 1;
  }
}

/** The whole DAG, small, where not all of it is seen; click or drag to go there. */
class Map_ extends Picture {
  constructor(dag) {
    super('map');
    this.dag = dag;
    const go = e => {
      if (e.type === 'pointermove' && !e.buttons) return;
      const b = this.canvas.getBoundingClientRect(), [kx, ky] = this.factors();
      dag.x = (e.clientX - b.left - this.width / 2) / kx + L.width / 2 - dag.width / dag.scale / 2;
      dag.y = (e.clientY - b.top - 4) / ky - dag.height / dag.scale / 2;
      redraw();
    };
    this.canvas.addEventListener('pointerdown', e => { this.canvas.setPointerCapture(e.pointerId); go(e); });
    this.canvas.addEventListener('pointermove', go);
  }
  factors() { return [(this.width - 8) / Math.max(L.width, 500), (this.height - 8) / Math.max(this.dag.bottom, 1000)]; }
  draw(g) {
    const d = this.dag, all = d.scale <= d.whole() * 1.05;
    this.canvas.style.visibility = all || !N.length ? 'hidden' : 'visible';
    if (all) return;
    const [kx, ky] = this.factors(), left = this.width / 2 - L.width * kx / 2, top = 4;
    for (const n of N) {
      const strong = n.id === selected || matches.has(n.id), path = $('show-path').checked && onPath.has(n.id);
      g.fillStyle = n.id === selected ? colour.mark : strong ? colour.find : path ? colour.path : D.colours[n.stream];
      const size = strong ? 4 : 0;
      g.fillRect(left + n.left * kx - size / 2, top + n.top * ky - size / 2,
        Math.max(1.5, L.nodeWidth * kx) + size, Math.max(1, L.nodeHeight * ky) + size);
    }
    g.strokeStyle = colour.mark; g.lineWidth = 1.5;
    const x = Math.max(1, left + d.x * kx), y = Math.max(1, top + d.y * ky);
    g.strokeRect(x, y, Math.max(2, Math.min(this.width - 1, left + (d.x + d.width / d.scale) * kx) - x),
      Math.max(2, Math.min(this.height - 1, top + (d.y + d.height / d.scale) * ky) - y));
  }
}

// ---- pictures over time -------------------------------------------------------------------------

const GUTTER = 68, AXIS = 20;
const total = Math.max(1, D.totalNanos, ...N.map(n => n.end));
const range = { from: 0, to: total }; // of time, shared

class Timed extends Picture {
  constructor(id) { super(id); this.y0 = 0; this.y1 = 1; this.listen(); } // y0, y1: what part is shown
  sx(t) { return GUTTER + (t - range.from) / (range.to - range.from) * (this.width - GUTTER - 8); }
  timeAt(x) { return x < GUTTER ? null : range.from + (x - GUTTER) / (this.width - GUTTER - 8) * (range.to - range.from); }
  get tall() { return this.height - AXIS - 4; }
  sy(part) { return AXIS + (part - this.y0) / (this.y1 - this.y0) * this.tall; }
  pan(dx, dy) {
    const t = -dx / (this.width - GUTTER - 8) * (range.to - range.from);
    const by = Math.max(-range.from, Math.min(total - range.to, t));
    range.from += by; range.to += by;
    const y = Math.max(-this.y0, Math.min(1 - this.y1, -dy / this.tall * (this.y1 - this.y0)));
    this.y0 += y; this.y1 += y;
  }
  zoom(factor, cx, cy, vertical) {
    if (vertical) {
      const size = Math.max(0.002, Math.min(1, (this.y1 - this.y0) / factor));
      const part = Math.max(0, Math.min(1, (cy - AXIS) / this.tall));
      this.y0 = Math.max(0, Math.min(1 - size, this.y0 + part * (this.y1 - this.y0 - size)));
      this.y1 = this.y0 + size;
    } else {
      const size = Math.max(Math.min(total, 50), Math.min(total, (range.to - range.from) / factor));
      const part = Math.max(0, Math.min(1, (cx - GUTTER) / (this.width - GUTTER - 8)));
      range.from = Math.max(0, Math.min(total - size, range.from + part * (range.to - range.from - size)));
      range.to = range.from + size;
    }
  }
  fit() { range.from = 0; range.to = total; this.y0 = 0; this.y1 = 1; }
  axis(g) {
    g.font = '10px ' + FONT; g.textBaseline = 'middle'; g.textAlign = 'center';
    const span = range.to - range.from, wanted = span / Math.max(1, (this.width - GUTTER) / 90);
    const power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const step = Math.max(1, [1, 2, 5, 10].map(k => k * power).find(k => k >= wanted));
    for (let t = Math.ceil(range.from / step) * step; t <= range.to; t += step) {
      const x = this.sx(t);
      g.strokeStyle = colour.line; g.lineWidth = 1;
      g.beginPath(); g.moveTo(x, AXIS - 4); g.lineTo(x, this.height); g.stroke();
      g.fillStyle = colour.muted;
      if ((x > GUTTER + 10 || t === 0) && x < this.width - 18) g.fillText(tick(t, step), x, 8);
    }
  }
  cursor(g) {
    if (moment !== null && moment >= range.from && moment <= range.to) {
      const x = this.sx(moment);
      g.strokeStyle = colour.muted; g.setLineDash([3, 3]); g.lineWidth = 1;
      g.beginPath(); g.moveTo(x, AXIS); g.lineTo(x, this.height); g.stroke(); g.setLineDash([]);
    }
  }
  /** In the part of a box that is seen. */
  label(g, text, x, y, w, h, clear) {
    const from = Math.max(x, GUTTER) + 3, width = Math.min(x + w, this.width) - from - 3;
    if (width < 26) return;
    g.font = '11px ' + FONT; g.textAlign = 'left'; g.textBaseline = 'middle';
    g.fillStyle = clear ? ON_COLOUR : colour.ink; g.globalAlpha = clear ? 1 : 0.75;
    g.fillText(elided(g, shown(text), width), from, y + h / 2);
  }
  clipped(g, draw) {
    g.save(); g.beginPath(); g.rect(GUTTER, AXIS, this.width - GUTTER, this.height - AXIS); g.clip(); draw(); g.restore();
  }
}
function tick(t, step) {
  const [scale, unit] = step < 1e3 && range.to < 1e4 ? [1, 'ns'] : step < 1e6 && range.to < 1e7 ? [1e3, 'µs'] : [1e6, 'ms'];
  const places = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / scale) + 1e-9)));
  return (t / scale).toFixed(places) + ' ' + unit;
}

class Lanes extends Timed {
  constructor() {
    super('timeline');
    this.timed = N.filter(n => n.timed);
    this.workers = Math.max(1, ...this.timed.map(n => n.worker + 1));
  }
  get lanes() { return $('by-worker').checked ? this.workers : Math.max(1, streams); }
  get tall() { return Math.min(this.height - AXIS - 4, this.lanes * 56); }
  lane(n) { return $('by-worker').checked ? n.worker : n.stream; }
  place(n) {
    const top = this.sy(this.lane(n) / this.lanes), bottom = this.sy((this.lane(n) + 1) / this.lanes);
    const gap = Math.min(3, (bottom - top) * 0.12), x = this.sx(n.start);
    return [x, top + gap, Math.max(1.2, this.sx(n.end) - x), Math.max(1, bottom - top - 2 * gap)];
  }
  hit(px, py) {
    let best = -1, nearest = 3; // thin launches may be missed by so many pixels
    if (px < GUTTER) return -1;
    for (const n of this.timed) {
      const [x, y, w, h] = this.place(n);
      if (py >= y && py <= y + h) {
        const away = px < x ? x - px : px > x + w ? px - x - w : -1;
        if (away < nearest) { nearest = away; best = n.id; }
      }
    }
    return best;
  }
  draw(g) {
    this.axis(g);
    const lanes = this.lanes, each = this.sy(1 / lanes) - this.sy(0);
    const every = Math.max(1, Math.ceil(13 / each));
    g.font = '11px ' + FONT; g.textAlign = 'left'; g.textBaseline = 'middle'; g.fillStyle = colour.muted;
    for (let lane = 0; lane < lanes; lane++) {
      const y = this.sy((lane + 0.5) / lanes);
      if (lane % every === 0 && y > AXIS && y < this.height) g.fillText(($('by-worker').checked ? 'worker ' : 'stream ') + lane, 8, y);
    }
    this.clipped(g, () => {
      for (const n of this.timed) {
        const [x, y, w, h] = this.place(n);
        if (x > this.width || x + w < GUTTER || y > this.height || y + h < AXIS) continue;
        g.globalAlpha = selected < 0 || n.id === selected || N[selected].predecessors.includes(n.id) ? 1 : 0.45;
        g.fillStyle = D.colours[n.stream]; g.fillRect(x, y, w, h);
        if ($('show-path').checked && onPath.has(n.id)) { g.fillStyle = colour.path; g.fillRect(x, y + h - 2.5, w, 2.5); }
        if (w > 2.5) { g.strokeStyle = colour.panel; g.lineWidth = 0.6; g.strokeRect(x, y, w, h); }
        if (h > 11) this.label(g, n.op, x, y, w, h, g.globalAlpha === 1);
        g.globalAlpha = 1;
        if (n.id === selected || n.id === hovered || matches.has(n.id)) {
          g.strokeStyle = n.id === selected ? colour.mark : n.id === hovered ? colour.ink : colour.find;
          g.lineWidth = 2.5; g.strokeRect(x - 1, y - 1, Math.max(2, w + 2), h + 2);
        }
      }
      if ($('show-syncs').checked) this.links(g, D.syncs.length <= 60 ? D.syncs : [], colour.sync, 0.55);
      if (selected >= 0) {
        this.links(g, N[selected].predecessors.map(p => [p, selected]), colour.mark, 1);
        this.links(g, waitsFor[selected].map(p => [p, selected]), colour.sync, 1);
      }
      this.cursor(g);
    });
  }
  links(g, pairs, style, alpha) {
    g.strokeStyle = style; g.globalAlpha = alpha; g.lineWidth = 1.3; g.beginPath();
    for (const [from, to] of pairs) {
      if (!N[from].timed || !N[to].timed) continue;
      const a = this.place(N[from]), b = this.place(N[to]);
      const x1 = a[0] + a[2], y1 = a[1] + a[3] / 2, x2 = b[0], y2 = b[1] + b[3] / 2, m = Math.max(6, (x2 - x1) / 2);
      g.moveTo(x1, y1); g.bezierCurveTo(x1 + m, y1, x2 - m, y2, x2, y2);
    }
    g.stroke(); g.globalAlpha = 1;
  }
}

class Arena extends Timed {
  constructor() { super('arena'); this.bytes = Math.max(1, D.memory.ARENA); }
  place(box) {
    const top = this.sy(1 - (box.offset + box.size) / this.bytes), bottom = this.sy(1 - box.offset / this.bytes), x = this.sx(box.from);
    return [x, top, Math.max(1.2, this.sx(box.to) - x), Math.max(0.8, bottom - top)];
  }
  boxAt(px, py) {
    if (px < GUTTER) return null;
    let best = null;
    for (const box of D.arena) {
      const [x, y, w, h] = this.place(box);
      if (px >= x - 1 && px <= x + w + 1 && py >= y - 1 && py <= y + h + 1 && (!best || box.from >= best.from)) best = box;
    }
    return best;
  }
  hit(px, py) { const box = this.boxAt(px, py); return box ? box.node : -1; }
  draw(g) {
    this.axis(g);
    g.font = '10px ' + FONT; g.textAlign = 'right'; g.textBaseline = 'middle'; g.fillStyle = colour.muted;
    for (let i = 0; i <= 4 && D.memory.ARENA; i++) {
      const part = this.y0 + (this.y1 - this.y0) * i / 4;
      g.fillText(bytes(Math.round(this.bytes * (1 - part))), GUTTER - 6, Math.min(this.height - 6, Math.max(AXIS + 5, this.sy(part))));
    }
    this.clipped(g, () => {
      for (const box of D.arena) {
        const [x, y, w, h] = this.place(box);
        if (x > this.width || x + w < GUTTER || y > this.height || y + h < AXIS) continue;
        const n = N[box.node];
        g.globalAlpha = selected < 0 || box.node === selected ? 1 : 0.4;
        g.fillStyle = box.workspace ? colour.rest : D.colours[n.stream]; g.fillRect(x, y, w, h);
        if (w > 2.5 && h > 2.5) { g.strokeStyle = colour.panel; g.lineWidth = 0.8; g.strokeRect(x, y, w, h); }
        if (h > 12) this.label(g, box.workspace ? 'workspace' : box.value, x, y, w, h, g.globalAlpha === 1);
        g.globalAlpha = 1;
      }
      const outline = (v, style, width, dash) => boxesOf[v].forEach(box => {
        const [x, y, w, h] = this.place(box);
        g.strokeStyle = style; g.lineWidth = width; g.setLineDash(dash); g.strokeRect(x, y, w, h); g.setLineDash([]);
      });
      matches.forEach(v => outline(v, colour.find, 2, []));
      if (selected >= 0) { N[selected].predecessors.forEach(p => outline(p, colour.mark, 1.5, [4, 3])); outline(selected, colour.mark, 2.5, []); }
      if (hovered >= 0) outline(hovered, colour.ink, 2, []);
      this.cursor(g);
    });
    if (!D.arena.length) { g.fillStyle = colour.muted; g.textAlign = 'center'; g.fillText('the arena is empty', this.width / 2, this.height / 2); }
  }
}

// ---- hover, selection, search -------------------------------------------------------------------

function tip(v, e, box) {
  const t = $('tip');
  t.hidden = v === null;
  if (v === null) return;
  const n = N[v];
  t.textContent = '';
  element(t, 'b', shown(n.name));
  const lines = [
    shown(n.op) + ' on stream ' + n.stream + (n.timed && lanes.workers > 1 ? ', worker ' + n.worker : ''),
    n.timed ? time(n.start) + ' to ' + time(n.end) + ': ' + duration(n) : duration(n),
    n.inputs.map(x => x.type).join(', ') + ' → ' + n.outputs.map(x => x.type).join(', '),
    'writes ' + bytes(n.outputs.reduce((sum, x) => sum + x.bytes, 0)) + ', reads ' + bytes(n.inputs.reduce((sum, x) => sum + x.bytes, 0)),
    n.predecessors.length ? 'after ' + n.predecessors.slice(0, 6).map(p => shown(N[p].name)).join(', ') + (n.predecessors.length > 6 ? ', …' : '') : 'no predecessors',
  ];
  if (box) lines.push((box.workspace ? 'workspace' : 'value ' + shown(box.value)) + ': ' + bytes(box.size) + ' at ' + bytes(box.offset) + ', ' + time(box.from) + ' to ' + time(box.to));
  if (onPath.has(v)) lines.push('on the critical path');
  element(t, 'span', '\n' + lines.join('\n'));
  const w = t.offsetWidth, h = t.offsetHeight;
  t.style.left = Math.max(4, e.clientX + 14 + w > innerWidth ? e.clientX - w - 10 : e.clientX + 14) + 'px';
  t.style.top = Math.max(4, e.clientY + 14 + h > innerHeight ? e.clientY - h - 10 : e.clientY + 14) + 'px';
}

function select(v, origin) {
  selected = v;
  details();
  if (v >= 0) {
    if (origin !== dag) dag.reveal(v);
    const n = N[v], size = range.to - range.from;
    if (n.timed && (n.end < range.from || n.start > range.to)) {
      range.from = Math.max(0, Math.min(total - size, (n.start + n.end - size) / 2)); range.to = range.from + size;
    }
  }
  try { history.replaceState(null, '', v >= 0 ? '#node=' + v : location.pathname + location.search); } catch (e) { /* a page without an address */ }
  redraw();
}

function details() {
  const d = $('details');
  d.hidden = selected < 0;
  d.textContent = '';
  if (selected < 0) return;
  const n = N[selected];
  element(d, 'h3', shown(n.name));
  const close = element(d, 'button', '✕', 'close');
  close.type = 'button'; close.title = 'Deselect (Esc)';
  close.addEventListener('click', () => select(-1));
  const list = element(d, 'dl');
  const row = (term, ...lines) => {
    element(list, 'dt', term);
    const dd = element(list, 'dd');
    lines.forEach(line => element(dd, 'div', line));
    return dd;
  };
  const links = (term, ids) => {
    if (!ids.length) return;
    const dd = row(term);
    ids.slice(0, 40).forEach(v => element(dd, 'a', shown(N[v].name)).addEventListener('click', () => select(v)));
    if (ids.length > 40) element(dd, 'span', 'and ' + (ids.length - 40) + ' more');
  };
  row('operator', shown(n.operator));
  row('kernel', shown(n.kernel));
  row('place', 'stream ' + n.stream + (n.timed ? ', worker ' + n.worker : '') + ', launch ' + (n.launch + 1) + ' of ' + N.length);
  row('time', n.timed ? time(n.start) + ' to ' + time(n.end) + ': ' + duration(n) : duration(n) + ': no kernel runs');
  row('slack', onPath.has(selected) ? 'none: on the critical path' : time(n.slack) + ' before the critical path grows');
  const value = x => shown(x.name) + ': ' + shown(x.type) + ', ' + bytes(x.bytes) + ', ' + x.slice;
  if (n.inputs.length) row('inputs', ...n.inputs.map(value));
  if (n.outputs.length) row('outputs', ...n.outputs.map(value));
  if (n.workspace) row('workspace', n.workspace);
  links('predecessors', n.predecessors);
  links('successors', successors[selected]);
  links('waits for', waitsFor[selected]);
}

let marked = 0;
function search() {
  const text = $('search').value.trim().toLowerCase(), list = $('matches');
  const found = text ? N.filter(n => n.search.includes(text)) : [];
  matches = new Set(found.map(n => n.id));
  list.textContent = '';
  list.hidden = !text;
  marked = 0;
  found.slice(0, 60).forEach((n, i) => {
    const item = element(list, 'li', undefined, i === 0 ? 'on' : '');
    element(item, 'span', shown(n.op) + '  ', 'op');
    element(item, 'span', shown(n.name));
    item.dataset.node = n.id;
    item.addEventListener('pointerdown', e => { e.preventDefault(); choose(n.id); });
  });
  if (text && !found.length) element(list, 'li', 'nothing found');
  if (found.length > 60) element(list, 'li', 'and ' + (found.length - 60) + ' more');
  redraw();
}
function choose(v) { $('matches').hidden = true; select(v); }
$('search').addEventListener('input', search);
$('search').addEventListener('focus', () => { if ($('search').value) search(); });
$('search').addEventListener('blur', () => { $('matches').hidden = true; });
$('search').addEventListener('keydown', e => {
  const items = [...$('matches').children].filter(i => i.dataset.node !== undefined);
  if (e.key === 'Enter' && items[marked]) choose(Number(items[marked].dataset.node));
  if (e.key === 'Escape') { $('search').value = ''; search(); $('search').blur(); }
  if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && items.length) {
    e.preventDefault();
    items[marked].classList.remove('on');
    marked = (marked + (e.key === 'ArrowDown' ? 1 : items.length - 1)) % items.length;
    items[marked].classList.add('on'); items[marked].scrollIntoView({ block: 'nearest' });
  }
});
addEventListener('keydown', e => {
  if (e.target.tagName === 'INPUT' && e.target.type === 'search') return;
  if (e.key === '/') { e.preventDefault(); $('search').focus(); }
  if (e.key === 'Escape') select(-1);
});

// ---- words --------------------------------------------------------------------------------------

function words() {
  const b = D.bounds, title = shown(D.graph) || 'unnamed graph';
  document.title = title + ': plan';
  $('title').textContent = title;
  $('title').title = title;
  $('summary').textContent = [
    count(N.length, 'node'), count(streams, 'stream') + ' by ' + shown(D.policy), count(D.syncs.length, 'sync'),
    'degree of concurrency ' + D.concurrency, shown(D.device),
    'replay ' + (D.replayNanos ? time(D.replayNanos) + ', with timing ' : 'with timing ') + time(D.totalNanos),
  ].join(' · ');
  const size = D.memory.ARENA;
  $('arena-summary').textContent = bytes(size) + (size ? ': ' + (size / Math.max(1, D.memory.lowerBound)).toFixed(2)
    + ' × the lower bound in launch order, 1/' + (D.memory.naive / size).toFixed(1) + ' of the naive sum' : '')
    + ' · constants ' + bytes(D.memory.CONSTANT) + ', inputs ' + bytes(D.memory.INPUT) + ', outputs ' + bytes(D.memory.OUTPUT)
    + (D.memory.VARIABLE ? ', variables ' + bytes(D.memory.VARIABLE) : '');
  $('headline').textContent = b.headline;
  b.sentences.forEach(s => element($('sentences'), 'li', s));
  const bar = (label, parts) => {
    element($('bars'), 'span', label);
    const line = element($('bars'), 'div', undefined, 'bar');
    parts.forEach(([name, nanos, title]) => {
      const part = element(line, 'i', undefined, name);
      part.style.width = 100 * nanos / total + '%'; part.title = title + ' ' + time(nanos);
    });
  };
  bar('step', [['work', b.chainNanos, 'computing'], ['launch', b.launchNanos, 'launching'], ['wait', b.syncNanos, 'waiting for another worker'], ['rest', b.edgeNanos, 'entering and leaving']]);
  bar('critical path', [['work', b.pathNanos, 'critical path']]);
  bar('work ÷ ' + count(b.workers, 'worker'), [['work', b.evenNanos, 'evenly spread']]);
  element($('bars'), 'span');
  const key = element($('bars'), 'span', undefined, 'key');
  [['work', 'computing'], ['launch', 'launching'], ['wait', 'waiting for another worker'], ['rest', 'entering and leaving']].forEach(([name, text]) => {
    element(key, 'i', undefined, name); key.append(text);
  });
}

words();
const dag = new Dag(), map = new Map_(dag), lanes = new Lanes(), arena = new Arena();
readColours();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', readColours);
for (const id of ['show-path', 'show-syncs', 'by-worker']) $(id).addEventListener('change', redraw);
$('fit-dag').addEventListener('click', () => { dag.fit(); redraw(); });
$('fit-time').addEventListener('click', () => { lanes.fit(); arena.fit(); redraw(); });
function fromAddress() {
  const v = Number((/^#node=(\d+)$/.exec(location.hash) || [])[1] ?? -1);
  if (v >= 0 && v < N.length) select(v);
}
addEventListener('hashchange', fromAddress);
fromAddress();
ready = true;
pictures.forEach(p => p.paint());
root.dataset.ready = String(N.length);
})();
