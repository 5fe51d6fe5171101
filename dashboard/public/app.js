/**
 * The first page: what this node is, what it does, which queues it holds; and the way to the pages
 * of the other surfaces (surfaces.js).
 *
 * Sources are asked independently. An answer changes what it covers; a failure changes nothing but
 * the mark that what is shown is old.
 */
import { accessOf, keepAccess } from './access.js';
import { formatBytes, formatDuration, formatInteger, formatRate } from './format.js';
import { filled, History, outline } from './history.js';
import { LinkPage } from './link-page.js';
import { QueueTable } from './queues.js';
import { poll } from './source.js';
import { SurfacePage } from './surface-page.js';
import { PAGES } from './surfaces.js';

const CHART_WIDTH = 300;
const CHART_HEIGHT = 56;
const STALE_CHECK_MS = 1000;
const UNAUTHORIZED = 401;
const SYSTEM = { path: '/system', title: 'System' };

const element = (id) => document.getElementById(id);
const put = (id, text) => {
  element(id).textContent = text;
};

/** What is asked -> when its last answer came, and what is wrong since. */
const sources = new Map();

/** Returns what ends it. */
function follow(question, onAnswer, accepts = []) {
  sources.set(question, { answeredMs: null, error: null });
  const stop = poll(question, {
    accepts,
    onAnswer: (body) => {
      sources.set(question, { answeredMs: Date.now(), error: null });
      onAnswer(body);
      showFreshness();
    },
    onError: (error, status) => {
      sources.set(question, { ...sources.get(question), error });
      if (status === UNAUTHORIZED) wantAccess();
      showFreshness();
    },
  });
  return () => {
    stop();
    sources.delete(question);
    showFreshness();
  };
}

/** The oldest of the failing sources speaks for the page. */
function showFreshness() {
  const failing = [...sources.values()].filter(({ error }) => error !== null);
  const stale = element('stale');
  stale.hidden = failing.length === 0;
  document.body.toggleAttribute('data-stale', failing.length > 0);
  const worst = failing.sort((a, b) => (a.answeredMs ?? 0) - (b.answeredMs ?? 0))[0];
  if (worst === undefined) return;
  const age =
    worst.answeredMs === null
      ? 'no answer yet'
      : `as of ${formatDuration((Date.now() - worst.answeredMs) / 1000)} ago`;
  stale.textContent = `${worst.error} · ${age}`;
  if (failing.length === sources.size) showHealth('unreachable', 'bad');
}

function showHealth(text, tone) {
  const pill = element('health');
  if (pill.textContent !== text) pill.textContent = text;
  pill.dataset.tone = tone;
}

function onHealth({ status, raft }) {
  showHealth(status, status === 'healthy' ? 'good' : 'wait');
  link.show(raft);
}

function onStatus(status) {
  link.leaderId = status.leaderId;
  put('cluster', status.clusterId ?? '');
  put('role', status.state);
  put('role-note', `term ${formatInteger(status.term)}${leaderNote(status)}`);
  put('node', `node ${status.nodeId}`);
  const voters = status.singleNode ? 'single node' : `${status.voters} voters`;
  put('node-note', status.hostname === null ? voters : `${status.hostname} · ${voters}`);
  put('log', formatBytes(status.log.bytes));
  put('log-note', counted(status.log.files, 'file', 'files'));
  put('store', formatBytes(status.store.usedBytes));
  const { mapBytes } = status.store;
  put('store-note', mapBytes === null ? '' : `of ${formatBytes(mapBytes)} address space`);
  put('uptime', formatDuration(status.uptimeSeconds));
  put('version', `version ${status.version}`);
  showPositions(status);
}

/** Who leads, unless it is this node: then the role says so. */
function leaderNote({ leaderId, nodeId }) {
  if (leaderId === null) return ' · no leader known';
  return leaderId === nodeId ? '' : ` · leader is node ${leaderId}`;
}

function showPositions({ lastLogIndex, durableIndex, committedIndex, appliedIndex }) {
  put('position-last', formatInteger(lastLogIndex));
  const positions = { durable: durableIndex, committed: committedIndex, applied: appliedIndex };
  for (const [name, index] of Object.entries(positions)) {
    put(`position-${name}`, formatInteger(index));
    const behind = lastLogIndex - index;
    put(`behind-${name}`, Number.isFinite(behind) && behind > 0 ? `−${formatInteger(behind)}` : '');
  }
}

const messages = new History();
const requests = new History();

function onMetrics(metrics) {
  const nowMs = performance.now();
  put('memory', formatBytes(metrics.memory.rss));
  messages.add(metrics.messages.total, nowMs);
  requests.add(metrics.requests.total, nowMs);
  showChart('messages', messages, metrics.messages.total);
  showChart('requests', requests, metrics.requests.total);
}

function showChart(name, history, total) {
  put(`${name}-rate`, formatRate(history.latest));
  const highest = history.highest ? ` · highest ${formatRate(history.highest)}` : '';
  put(`${name}-note`, `${formatInteger(total)} since start${highest}`);
  const chart = element(`${name}-chart`);
  const box = [history.rates, CHART_WIDTH, CHART_HEIGHT];
  chart.querySelector('.line').setAttribute('d', outline(...box));
  chart.querySelector('.area').setAttribute('d', filled(...box));
}

function counted(count, one, many) {
  return `${formatInteger(count)} ${count === 1 ? one : many}`;
}

function firstMessage() {
  return [
    `curl -X POST ${location.origin}/api/v1/push \\`,
    `  -H 'content-type: application/json' \\`,
    `  -d '{"items":[{"queue":"orders","payload":{"id":1}}]}'`,
  ].join('\n');
}

// --- access --------------------------------------------------------------------------------------

let hasWanted = false;

/** Once: whoever closes it again knows. */
function wantAccess() {
  if (!hasWanted) element('access').open = true;
  hasWanted = true;
}

function showAccess() {
  const { token, tenant } = accessOf(sessionStorage);
  element('token').value = token;
  element('tenant').value = tenant;
  const notes = [token === '' ? '' : 'token', tenant === '' ? '' : `tenant ${tenant}`];
  put('access-note', notes.map((note) => (note === '' ? '' : ` · ${note}`)).join(''));
}

element('access-form').addEventListener('submit', (event) => {
  event.preventDefault();
  keepAccess(sessionStorage, { token: element('token').value, tenant: element('tenant').value });
  // Begins anew, so that nothing stays of what another caller was shown.
  location.assign('/');
});

// --- pages ---------------------------------------------------------------------------------------

const surface = new SurfacePage(
  {
    section: element('surface'),
    title: element('surface-title'),
    fields: element('surface-fields'),
    table: element('surface-table'),
    head: element('surface-head'),
    rows: element('surface-rows'),
    note: element('surface-note'),
    template: element('surface-field'),
  },
  follow,
);

const link = new LinkPage({
  alarms: element('link-alarms'),
  facts: element('link-facts'),
  table: element('link-table'),
  head: element('link-head'),
  rows: element('link-rows'),
  note: element('link-note'),
  form: element('promote'),
  forbidden: element('promote-forbidden'),
  name: element('promote-name'),
  kept: element('promote-kept'),
  typed: element('promote-typed'),
  button: element('promote-button'),
  answer: element('promote-answer'),
});

function showPage() {
  const page = PAGES.find(({ path }) => path === location.pathname) ?? null;
  const isSystem = location.pathname === SYSTEM.path;
  const here = isSystem ? SYSTEM.path : (page?.path ?? '/');
  for (const part of document.querySelectorAll('[data-overview]')) part.hidden = here !== '/';
  element('system').hidden = !isSystem;
  for (const anchor of element('pages').children) {
    const isHere = anchor.getAttribute('href') === here;
    if (isHere) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  }
  surface.show(page);
}

for (const { path, title } of [...PAGES, SYSTEM]) {
  const anchor = document.createElement('a');
  anchor.href = path;
  anchor.textContent = title;
  element('pages').append(anchor);
}
document.addEventListener('click', (event) => {
  const anchor = event.target.closest('a');
  if (anchor === null || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, '', anchor.getAttribute('href'));
  showPage();
});
addEventListener('popstate', showPage);

// --- the overview --------------------------------------------------------------------------------

put('first-message', firstMessage());
const table = new QueueTable({
  table: element('queues'),
  rows: element('queue-rows'),
  note: element('queues-note'),
  count: element('queue-count'),
  filter: element('filter'),
  firstMessage: element('first-message'),
});

// A node that is not ready says so with 503 and the same body.
follow('/health', onHealth, [503]);
follow('/metrics', onMetrics);
follow('/api/v1/raft/status', onStatus);
follow('/api/v1/resources/queues', ({ queues }) => table.show(queues));
setInterval(showFreshness, STALE_CHECK_MS);
showAccess();
showPage();
