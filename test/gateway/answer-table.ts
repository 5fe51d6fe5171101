/**
 * What clients send to the gateway's port, for tests of what it answers by the byte: each route of
 * the API with a key, without one and by HEAD; the gateway's own routes and its pages; heads and
 * bodies of every kind, good and bad; and whatever is refused before a route is looked at.
 */
import { accessHeaders, CONTROL_TOKEN, type TenantAccess } from './gateway-nodes.js';
import { ASKED, isRead, type Named, plain } from './marked-tenant.js';
import { type RequestText, requestText } from './raw-connection.js';

/** One connection: each text is sent when the answer to the one before has come. */
export interface Row {
  readonly name: string;
  readonly sent: readonly string[];
  /** Answers are heads alone. */
  readonly isHeadOnly?: boolean;
  /** The body has figures of the node or of the moment, and is not compared. */
  readonly isMoving?: boolean;
  /** Whether the connection goes on is not asked. */
  readonly isLast?: boolean;
}

/** The clusters of a node that rows use. */
export interface Tenants {
  readonly owner: TenantAccess;
  /** The names that the owner has. */
  readonly named: Named;
  /** With rates of nothing, so that all is refused. */
  readonly slow: TenantAccess;
  /** Its plan has no streams and no traces, and small limits. */
  readonly small: TenantAccess;
  readonly suspended: TenantAccess;
  readonly blocked: TenantAccess;
  /** A session of an administrator of the owner's, as a cookie. */
  readonly cookie: string;
}

export const BODY_BYTES_MAX = 1_048_576;
export const WEB_BODY_BYTES_MAX = 65_536;
export const ALLOWED_ORIGIN = 'https://app.example';
/** The person of the owner's cluster who can log in. */
export const LOGIN = { email: 'person@owner.example', password: 'a good password' };

type Headers = NonNullable<RequestText['headers']>;

const JSON_BODY: Headers = [['content-type', 'application/json']];

function keyOf(access: TenantAccess): Headers {
  return Object.entries(accessHeaders(access));
}

const row = (name: string, ...sent: readonly string[]): Row => ({ name, sent });

export function allRows(tenants: Tenants): Row[] {
  return [
    ...routes(tenants),
    ...refused(tenants),
    ...ownRoutes(tenants),
    ...edge(tenants),
    ...badHeads(tenants),
    ...bodies(tenants),
    ...connections(tenants),
  ];
}

/** Some of each kind, for a port that speaks TLS. */
export function someRows(tenants: Tenants): Row[] {
  const named = /large|login|cookie/;
  const path = '/api/v1/pop/queue/none?wait=true&timeout=60000';
  return [
    ...allRows(tenants).filter(({ name }, i) => i % 7 === 0 || named.test(name)),
    row('504 of a wait', requestText(path, { headers: keyOf(tenants.owner) })),
  ];
}

const hostOf = (host: string): Headers => [['Host', host]];

/** The last minutes, which go on by themselves, and what is the node's own. */
const MOVING =
  /(health|metrics|openapi|analytics|status|lag|positions|usage|consumer-groups|overview)/;

function routes({ owner, named }: Tenants): Row[] {
  // Requests that change something come behind those that show it.
  const order = Object.keys(ASKED).toSorted((a, b) => Number(isRead(b)) - Number(isRead(a)));
  return order.flatMap((at) => {
    const [method = ''] = at.split(' ');
    const asked = (ASKED[at] as (typeof ASKED)[string])(named);
    return asked.flatMap(({ path, body }, i): Row[] => {
      const text = body === undefined ? {} : { body: JSON.stringify(body) };
      const ask = (headers: Headers, as = method) =>
        requestText(path, { method: as, headers: [...headers, ...JSON_BODY], ...text });
      const isMoving = MOVING.test(path);
      const rows: Row[] = [
        { ...row(`${at} ${i} with a key`, ask(keyOf(owner))), isMoving },
        { ...row(`${at} ${i} without one`, ask(hostOf('owner.example'))), isMoving },
      ];
      if (!isRead(at)) return rows;
      const head = { ...row(`HEAD of ${at} ${i}`, ask(keyOf(owner), 'HEAD')), isHeadOnly: true };
      return [...rows, { ...head, isMoving }];
    });
  });
}

function refused(tenants: Tenants): Row[] {
  const { owner, slow, small, suspended, blocked } = tenants;
  const push = (headers: Headers, payload: unknown = 1, queue = 'refusals') => {
    const body = JSON.stringify({ items: [{ queue, payload }] });
    return requestText('/api/v1/push', { headers, body });
  };
  const get = (path: string, headers: Headers) => requestText(path, { headers });
  const bearer = (token: string, host = 'owner.example'): Headers => [
    ...hostOf(host),
    ['authorization', `Bearer ${token}`],
  ];
  const query = { body: '{"name":"n","source_queue":"q","config_hash":"h"}' };
  const wait = '?wait=true&timeout=1000';
  return [
    row('401 of a key that is none', push(bearer('qk_live_nobody'))),
    row('401 of a token that is none', push(bearer('a.b.c'))),
    row('401 of a long key', push(bearer(`qk_${'x'.repeat(4000)}`))),
    row('403 of the key of another cluster', push(bearer(small.key))),
    row('403 of a suspended cluster', push(keyOf(suspended))),
    row('403 of a cluster that may not push', push(keyOf(blocked))),
    row('403 of a plan', requestText('/streams/v1/queries', { headers: keyOf(small), ...query })),
    row('403 of a queue too many', push(keyOf(small), 1, 'q1'), push(keyOf(small), 1, 'q2')),
    row('404 of a blocked route', get('/api/v1/pop', keyOf(owner))),
    row('404 of an operator’s route', get('/api/v1/raft/status', keyOf(owner))),
    row('404 of a path of nobody', get('/api/v1/nothing', keyOf(owner))),
    row('a method of no route', requestText('/api/v1/push', { headers: keyOf(owner) })),
    row('DELETE', requestText('/api/v1/push', { method: 'DELETE', headers: keyOf(owner) })),
    row('PATCH', requestText('/api/v1/push', { method: 'PATCH', headers: keyOf(owner) })),
    row('413 of a payload', push(keyOf(small), 'x'.repeat(2000))),
    row('421 of a host', get('/api/v1/resources/queues', bearer(owner.key, 'nobody.example'))),
    row('421 of no slug', get('/api/v1/resources/queues', bearer(owner.key, '-.example'))),
    row('429 of a rate', push(keyOf(slow))),
    row('429 of waiting pops', get(`/api/v1/pop/queue/q1${wait}`, keyOf(small))),
    row('a key that acts on a cluster', get('/api/v1/resources/queues', actsOn(owner))),
    row('a spoofed tenant', push([...keyOf(owner), ['x-svc-tenant', small.brokerTenant]])),
    row('a spoofed tenant that is none', push([...keyOf(owner), ['x-svc-tenant', 'nobody']])),
  ];
}

const actsOn = (access: TenantAccess): Headers => [
  ...keyOf(access),
  ['x-svc-act-cluster', access.slug],
];

function ownRoutes({ cookie, owner }: Tenants): Row[] {
  const host = hostOf('owner.example');
  const person: Headers = [...host, ['cookie', cookie]];
  const own: Headers = [...person, ['origin', 'http://owner.example']];
  const control: Headers = [...host, ['x-svc-cp-token', CONTROL_TOKEN]];
  const get = (path: string, headers: Headers = host) => requestText(path, { headers });
  const post = (path: string, body: string, headers: Headers, method = 'POST') =>
    requestText(path, { method, headers, body });
  const form: Headers = [...host, ['origin', 'http://owner.example']];
  const login = (password: string) =>
    post('/auth/login', new URLSearchParams({ ...LOGIN, password }).toString(), form);
  const reads = [
    '/auth/me',
    '/auth/session-token',
    '/api/console/overview',
    '/api/console/keys',
    '/api/console/members',
    '/api/console/usage?hours=x',
    '/api/operator/users',
    '/',
    '/queues?x=1',
    '/console',
    '/assets/nothing.js',
  ];
  return [
    ...reads.flatMap((path): Row[] => [
      row(`${path} of a person`, get(path, person)),
      row(`${path} of nobody`, get(path)),
      { ...row(`HEAD ${path}`, head(path, person)), isHeadOnly: true },
      row(`${path} in a browser`, get(path, [...host, ['accept', 'text/html']])),
    ]),
    row('a page in a smaller form', get('/', [...person, ['accept-encoding', 'gzip, br']])),
    row('health', get('/healthz')),
    row('keys of signatures', get('/.well-known/jwks.json')),
    row('the login page', get('/auth/login?next=/queues')),
    row('a wrong password', login('wrong')),
    row('a login', login(LOGIN.password)),
    row('a logout of nobody', post('/auth/logout', '', form)),
    row('a provider that there is not', get('/auth/google'), get('/auth/github/callback')),
    row('a write of a page elsewhere', post('/api/console/keys', '{}', person)),
    row('a bad body', post('/api/console/keys', '{', own)),
    row('a role for nobody', post('/api/console/members', '{"email":"a@b","role":"admin"}', own)),
    row('a long body', post('/auth/login', 'x'.repeat(WEB_BODY_BYTES_MAX + 1), form)),
    row('a long body in chunks', longInChunks('/auth/login', WEB_BODY_BYTES_MAX + 1, form)),
    row('the control plane', get(`/api/cp/clusters/${owner.slug}`, control)),
    row('the control plane of nobody', get(`/api/cp/clusters/${owner.slug}`)),
    row('a bad token', get('/api/cp/clusters/x', [...host, ['x-svc-cp-token', 'x']])),
    row('a bad document', post('/api/cp/tenants', '{"slug":"-"}', control)),
    { ...row('metrics', get('/metrics/prometheus', control)), isMoving: true },
    row('metrics of nobody', get('/metrics'), get('/status')),
  ];
}

function head(path: string, headers: Headers): string {
  return requestText(path, { method: 'HEAD', headers });
}

function longInChunks(path: string, length: number, headers: Headers): string {
  return requestText(path, { headers, body: 'x'.repeat(length), chunks: [1000, 30_000] });
}

function edge({ owner, cookie }: Tenants): Row[] {
  const path = '/api/v1/resources/queues';
  const get = (...more: Headers) => requestText(path, { headers: [...keyOf(owner), ...more] });
  const preflight = (origin: string, method = 'OPTIONS') =>
    requestText(path, {
      method,
      headers: [
        ...hostOf('owner.example'),
        ['origin', origin],
        ['access-control-request-method', 'GET'],
      ],
    });
  const write = (...headers: Headers) =>
    requestText('/api/v1/push', {
      headers: [...hostOf('owner.example'), ['cookie', cookie], ...headers],
      body: '{"items":[{"queue":"pages","payload":1}]}',
    });
  const many = Array.from({ length: 101 }, (_, i): [string, string] => [`x-${i}`, 'y']);
  return [
    row('an allowed origin', get(['origin', ALLOWED_ORIGIN])),
    row('another origin', get(['origin', 'https://elsewhere.example'])),
    row('a preflight', preflight(ALLOWED_ORIGIN)),
    row('a preflight from elsewhere', preflight('https://elsewhere.example')),
    row('no origin', requestText(path, { method: 'OPTIONS', headers: keyOf(owner) })),
    row('a cookie without an origin', write()),
    row('a cookie from elsewhere', write(['origin', 'https://elsewhere.example'])),
    row('a cookie of the same origin', write(['origin', 'http://owner.example'])),
    row('a cookie of the same site', write(['sec-fetch-site', 'same-origin'])),
    row('a cookie in a frame', write(['sec-fetch-site', 'cross-site'])),
    row('a referer', write(['referer', 'http://owner.example/queues'])),
    row('414', requestText(`${path}?${'x'.repeat(9000)}`, { headers: keyOf(owner) })),
    row('431 of headers', get(...many)),
    row('431 of a value', get(['x-long', 'y'.repeat(17_000)])),
    row('431 of all of them', get(...many.slice(0, 90).map(([name]) => pair(name, 800)))),
    row('a trusted proxy', get(['x-forwarded-for', '10.0.0.1'], ['x-forwarded-proto', 'https'])),
  ];
}

const pair = (name: string, length: number): [string, string] => [name, 'y'.repeat(length)];

function badHeads({ owner }: Tenants): Row[] {
  const key = keyOf(owner);
  const lines = key.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const path = '/api/v1/resources/queues';
  const get = (...more: Headers) => requestText(path, { headers: [...key, ...more] });
  const raw = (first: string, more = '') => `${first}\r\n${lines}${more}\r\n`;
  return [
    row('no host', 'GET /healthz HTTP/1.1\r\n\r\n'),
    row('HTTP/1.0', raw(`GET ${path} HTTP/1.0`)),
    row('HTTP/2.0', raw(`GET ${path} HTTP/2.0`)),
    row('two spaces', raw(`GET  ${path} HTTP/1.1`)),
    row('a small method', raw(`get ${path} HTTP/1.1`)),
    row('a method of nobody', raw(`BREW ${path} HTTP/1.1`)),
    row('CONNECT', raw('CONNECT owner.example:80 HTTP/1.1')),
    row('TRACE', raw(`TRACE ${path} HTTP/1.1`)),
    row('a whole address', raw(`GET http://owner.example${path} HTTP/1.1`)),
    row('a star', raw('OPTIONS * HTTP/1.1')),
    row('bare line feeds', `GET ${path} HTTP/1.1\nHost: owner.example\n\n`),
    row('a header without a colon', raw(`GET ${path} HTTP/1.1`, 'nonsense\r\n')),
    row('a space before the colon', raw(`GET ${path} HTTP/1.1`, 'x-one : 1\r\n')),
    row('a folded header', raw(`GET ${path} HTTP/1.1`, 'x-one: 1\r\n 2\r\n')),
    row('a zero in a value', raw(`GET ${path} HTTP/1.1`, 'x-one: a\0b\r\n')),
    row('eight bits in a value', get(['x-one', 'h\u00e9\u00ff'])),
    row('eight bits in a host', requestText(path, { headers: [['Host', 'h\u00e9.example']] })),
    row('eight bits in a key', get(['x-svc-act-cluster', '\u00c3\u00a9'])),
    row('eight bits in a path', raw('GET /api/v1/resources/queues/\u00c3\u00a9 HTTP/1.1')),
    row('half a code in a path', raw('GET /api/v1/resources/queues/%zz HTTP/1.1')),
    row('a code for a slash', raw('GET /api/v1/resources%2fqueues HTTP/1.1')),
    row('two slashes', raw('GET //api/v1/resources/queues HTTP/1.1')),
    row('dots', raw('GET /api/v1/../v1/resources/queues HTTP/1.1')),
    row('marks', raw('GET /api/v1/resources/queues?? HTTP/1.1')),
    row('a mark alone', raw('GET /api/v1/resources/queues? HTTP/1.1')),
    row('a code in a query', raw('GET /api/v1/resources/queues?limit=%31&x=%e2%82 HTTP/1.1')),
    row('two hosts', get(['Host', 'small.example'])),
    row('two credentials', get(['authorization', 'Bearer qk_x'])),
    row('two tenants', get(['x-svc-tenant', 'a'], ['x-svc-tenant', 'b'])),
    row('two origins', get(['origin', 'http://a.example'], ['origin', 'http://b.example'])),
    row('an upgrade', get(['connection', 'upgrade'], ['upgrade', 'websocket'])),
    row('an expectation', get(['expect', '200-ok'])),
    row('a range', get(['range', 'bytes=0-1'])),
    row('a tag', get(['if-none-match', '*'])),
  ];
}

function bodies({ owner }: Tenants): Row[] {
  const headers = keyOf(owner);
  const path = '/api/v1/push';
  const body = (queue: string, payload: unknown = 1, count = 1) =>
    JSON.stringify({ items: Array.from({ length: count }, () => ({ queue, payload })) });
  const push = (text: string, more: Headers = [], chunks?: readonly number[]) =>
    requestText(path, {
      headers: [...headers, ...more],
      body: text,
      ...(chunks === undefined ? {} : { chunks }),
    });
  const raw = (more: string, text: string) =>
    `POST ${path} HTTP/1.1\r\n${headers.map((pairs) => `${pairs.join(': ')}\r\n`).join('')}` +
    `${more}\r\n${text}`;
  const text = body('bodies');
  const large = body('large', 'x'.repeat(40_000), 20);
  const long = body('long', 'x'.repeat(BODY_BYTES_MAX));
  const pop = (more: string) => requestText(`/api/v1/pop/queue/large?batch=20${more}`, { headers });
  return [
    row('a push in one chunk', push(text, [], [])),
    row('a push in chunks', push(text, [], [1, 2, 3, 5])),
    row('a large push', push(large)),
    row('a large push in chunks', push(large, [], [1, 100, 40_000, 70_000])),
    row('a large answer', pop('&consumerGroup=whole&autoAck=true')),
    { ...row('HEAD of large', head('/openapi.json', headers)), isHeadOnly: true, isMoving: true },
    row('two large answers', pop('&consumerGroup=a'), pop('&consumerGroup=b')),
    row('700 messages', push(body('many', 1, 700))),
    row('413 of a body', push(long)),
    row('413 of a body in chunks', push(long, [], [1000, 60_000])),
    // Its connection is read no further, and ends when the native layer has waited for 8 to 12 s.
    {
      ...row('413 of no body', raw(`Content-Length: ${2 * BODY_BYTES_MAX}\r\n`, '')),
      isLast: true,
    },
    row('gzip', push('\x1f\x8b\x08', [['content-encoding', 'gzip']])),
    row('zstd', push('\x28\xb5\x2f\xfd', [['content-encoding', 'zstd']])),
    row('no coding', push(text, [['content-encoding', 'identity']])),
    row('another type', push(text, [['content-type', 'text/plain']])),
    row('no body', push('')),
    row('no JSON', push('{"items":[')),
    row('bytes', push(randomBytesOf(7))),
    row('no items', push('{"items":[]}')),
    row('no queue', push('{"items":[{"payload":1}]}')),
    row('a name twice', push('{"items":[],"items":[{"queue":"q","payload":1}]}')),
    row('two lengths', push(text, [['content-length', '1']])),
    row('a length that is none', raw('Content-Length: x\r\n', '')),
    row('a length below nothing', raw('Content-Length: -1\r\n', '')),
    row('a coding that is none', raw('Transfer-Encoding: gzip\r\n', '')),
    row('a length and chunks', raw(`${CHUNKED}Content-Length: 1\r\n`, '0\r\n\r\n')),
    row('a chunk without a length', raw(CHUNKED, 'x\r\n\r\n')),
    row('no chunks', raw(CHUNKED, '0\r\n\r\n')),
    row('a body of a GET', requestText('/openapi.json', { method: 'GET', headers, body: 'x' })),
  ];
}

const CHUNKED = 'Transfer-Encoding: chunked\r\n';

/** The same bytes in each run and at each node. */
function randomBytesOf(seed: number): string {
  return Array.from({ length: 64 }, (_, i) => String.fromCharCode((i * seed * 37) % 256)).join('');
}

function connections({ owner }: Tenants): Row[] {
  const headers = keyOf(owner);
  const path = '/api/v1/resources/queues';
  const get = requestText(path, { headers });
  const bad = requestText(path, { headers: hostOf('owner.example') });
  const push = requestText('/api/v1/push', {
    headers,
    body: '{"items":[{"queue":"connections","payload":1}]}',
  });
  const close: Headers = [['connection', 'close']];
  return [
    row('requests one after the other', get, push, bad, get, push),
    row('a connection that is closed', requestText(path, { headers: [...headers, ...close] })),
    row('an answer after a refusal', bad, bad, get),
  ];
}

/** And counts of a minute that may have ended meanwhile. */
const AGES = /"(msgs|maxTimeLag|timeLagSeconds|lagSeconds|statsAge)":\d+/g;

/** Takes out what differs from answer to answer: ids, times, tokens. Lengths are those of it. */
export function comparable(answer: string, named: Named, { isMoving = false }: Row): string {
  const at = answer.indexOf('\r\n\r\n');
  const [first = '', ...lines] = answer.slice(0, at).split('\r\n');
  const body = isMoving ? '' : plain(answer.slice(at + 4), named).replaceAll(AGES, '"$1":0');
  const head = lines
    .filter((line) => !/^date:/i.test(line))
    .map((line) => plain(line, named).replace(/^(content-length): \d+$/i, `$1: ${body.length}`));
  return [first, ...head, '', body].join('\r\n');
}
