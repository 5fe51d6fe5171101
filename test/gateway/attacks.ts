/**
 * What strangers and careless clients do to the gateway's port of a node. Each attack goes on while
 * it may, and tells what it was answered, by status; `ended`: the connection was closed instead.
 */
import { randomBytes } from 'node:crypto';
import { sleep } from '../process/node-under-test.js';
import { accessHeaders, type TenantAccess } from './gateway-nodes.js';
import { type Place, RawConnection, requestText } from './raw-connection.js';

export interface Attacked {
  readonly place: Place;
  /** The attacker's own cluster, with `max_parked_pops` of `parkedMax`. */
  readonly tenant: TenantAccess;
  readonly parkedMax: number;
  /** A session of a user of it, as a cookie. */
  readonly cookie: string;
  /** Connections of an attack; one that does not hold them has eight at most. */
  readonly connections: number;
  readonly mayGoOn: () => boolean;
}

export type Outcomes = ReadonlyMap<string, number>;

export interface Attack {
  readonly name: string;
  readonly run: (attacked: Attacked) => Promise<Outcomes>;
}

const FLOODING_MAX = 8;
const LOOK_MS = 20;
/** Each of which answers all of a queue: 8 MB, which no socket takes at once. */
const ENTRIES = 20;
const PUSH = '/api/v1/push';
const QUEUES = '/api/v1/resources/queues';

type Pairs = readonly (readonly [string, string])[];

const pairsOf = (tenant: TenantAccess): Pairs => Object.entries(accessHeaders(tenant));
const made = (bytes = 8): string => randomBytes(bytes).toString('hex');

export const ATTACKS: readonly Attack[] = [
  { name: 'silent connections', run: (attacked) => held(attacked, '') },
  {
    name: 'half heads',
    run: (attacked) => held(attacked, `GET ${QUEUES} HTTP/1.1\r\nHost: a.example\r\nx-h`),
  },
  {
    name: 'half bodies',
    run: (attacked) => held(attacked, halfBody(pairsOf(attacked.tenant))),
  },
  {
    name: 'half bodies of strangers',
    run: (attacked) => held(attacked, halfBody([['Host', `${attacked.tenant.slug}.example`]])),
  },
  { name: 'answers that are not read', run: unread },
  {
    name: 'made-up keys',
    run: (attacked) =>
      flood(attacked, ({ tenant }) => asked(tenant, ['authorization', `Bearer qk_live_${made()}`])),
  },
  {
    name: 'made-up tokens',
    run: (attacked) =>
      flood(attacked, ({ tenant }) => asked(tenant, ['authorization', `Bearer eyJ.${made()}.x`])),
  },
  {
    name: 'made-up cookies',
    run: (attacked) =>
      flood(attacked, ({ tenant }) => asked(tenant, ['cookie', `svc_session=${made(600)}`])),
  },
  {
    name: 'made-up hosts',
    run: (attacked) =>
      flood(attacked, () => requestText(QUEUES, { headers: [['Host', `h${made()}.example`]] })),
  },
  { name: 'large heads', run: (attacked) => flood(attacked, largeHead) },
  { name: 'logins', run: (attacked) => flood(attacked, login) },
  { name: 'sessions refreshed', run: (attacked) => flood(attacked, refreshed) },
  { name: 'pops that vanish', run: vanish },
  { name: 'a tenant that uses all it has', run: uses },
];

export async function attack(name: string, attacked: Attacked): Promise<Outcomes> {
  const found = ATTACKS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no attack of ${name}`);
  return found.run(attacked);
}

class Tally {
  readonly outcomes = new Map<string, number>();

  note(answer: string | null): void {
    const what = answer === null ? 'ended' : answer.slice('HTTP/1.1 '.length, 12);
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }
}

const asked = ({ slug }: TenantAccess, credential: readonly [string, string]): string =>
  requestText(QUEUES, { headers: [['Host', `${slug}.example`], credential] });

function halfBody(headers: Pairs): string {
  const whole = requestText(PUSH, { headers, body: `{"items":[${' '.repeat(100_000)}` });
  return whole.slice(0, -50_000);
}

function largeHead({ tenant }: Attacked): string {
  const more = Array.from({ length: 75 }, (_, i): [string, string] => [`x-${i}`, made(400)]);
  return requestText(QUEUES, { headers: [...pairsOf(tenant), ...more] });
}

function login({ tenant }: Attacked): string {
  const host = `${tenant.slug}.example`;
  const headers: Pairs = [
    ['Host', host],
    ['Origin', `http://${host}`],
  ];
  return requestText('/auth/login', { headers, body: `email=${made()}@a.example&password=x` });
}

function refreshed({ tenant, cookie }: Attacked): string {
  const headers: Pairs = [
    ['Host', `${tenant.slug}.example`],
    ['Cookie', cookie],
  ];
  return requestText('/auth/session-token', { headers });
}

/** Connections that send so much and then nothing; each that was closed is made anew. */
async function held(attacked: Attacked, first: string): Promise<Outcomes> {
  const tally = new Tally();
  const open: RawConnection[] = [];
  while (attacked.mayGoOn()) {
    for (let i = 0; i < attacked.connections && attacked.mayGoOn(); i++) {
      const old = open[i];
      if (old !== undefined && !old.isEnded) continue;
      if (old !== undefined) tally.note(await old.answer());
      const connection = new RawConnection(attacked.place);
      open[i] = connection;
      await connection.sent(first);
    }
    await sleep(LOOK_MS);
  }
  for (const connection of open) connection.destroy();
  return tally.outcomes;
}

async function flood(attacked: Attacked, next: (attacked: Attacked) => string): Promise<Outcomes> {
  const tally = new Tally();
  const client = async () => {
    let connection = new RawConnection(attacked.place);
    while (attacked.mayGoOn()) {
      if (connection.isEnded) connection = new RawConnection(attacked.place);
      connection.send(next(attacked));
      tally.note(await connection.answer());
    }
    connection.destroy();
  };
  const length = Math.min(attacked.connections, FLOODING_MAX);
  await Promise.all(Array.from({ length }, client));
  return tally.outcomes;
}

/** Asks for a long answer again and again, and takes nothing of it. */
async function unread(attacked: Attacked): Promise<Outcomes> {
  const tally = new Tally();
  const headers = pairsOf(attacked.tenant);
  const items = Array.from({ length: 200 }, () => ({ queue: 'unread', payload: 'x'.repeat(2000) }));
  const filling = new RawConnection(attacked.place);
  filling.send(requestText(PUSH, { headers, body: JSON.stringify({ items }) }));
  tally.note(await filling.answer());
  filling.destroy();
  const entries = Array.from({ length: ENTRIES }, () => ({ queue: 'unread', offset: 0 }));
  const ask = requestText('/api/v1/fetch', { headers, body: JSON.stringify({ entries }) });
  const open: RawConnection[] = [];
  while (attacked.mayGoOn()) {
    for (let i = 0; i < attacked.connections && attacked.mayGoOn(); i++) {
      // Its end is not seen by one that does not read.
      if (open[i] !== undefined && Math.random() > 0.01) continue;
      open[i]?.destroy();
      const connection = new RawConnection(attacked.place);
      connection.stopReading();
      open[i] = connection;
      await connection.sent(ask);
    }
    await sleep(LOOK_MS);
  }
  for (const connection of open) connection.destroy();
  return tally.outcomes;
}

function parking({ tenant }: Attacked): string {
  const headers = pairsOf(tenant);
  return requestText('/api/v1/pop/queue/of-nobody?wait=true&timeout=60000', { headers });
}

/** All places of waiting pops at once, whose clients go. */
async function vanish(attacked: Attacked): Promise<Outcomes> {
  const tally = new Tally();
  while (attacked.mayGoOn()) {
    const parked = Array.from({ length: attacked.parkedMax }, () => {
      return new RawConnection(attacked.place);
    });
    await Promise.all(parked.map((connection) => connection.sent(parking(attacked))));
    await sleep(LOOK_MS);
    for (const connection of parked) {
      if (connection.unread > 0) tally.note(await connection.answer());
      connection.destroy();
    }
  }
  return tally.outcomes;
}

/** Holds all places of waiting pops, and pushes and reads as much as it can. */
async function uses(attacked: Attacked): Promise<Outcomes> {
  const parked = held({ ...attacked, connections: attacked.parkedMax }, parking(attacked));
  const items = Array.from({ length: 200 }, () => ({ queue: 'greedy', payload: 'x'.repeat(500) }));
  const headers = pairsOf(attacked.tenant);
  const push = requestText(PUSH, { headers, body: JSON.stringify({ items }) });
  const pop = requestText('/api/v1/pop/queue/greedy?batch=200&autoAck=true', { headers });
  const outcomes = await flood(attacked, () => (Math.random() < 0.5 ? push : pop));
  await parked;
  return outcomes;
}
