/** The gateway's own routes over a store in memory, with a cluster, its users and a key. */
import type { Role } from '../base/access.js';
import { newApiKey } from '../credentials/api-key.js';
import { Credentials } from '../credentials/credentials.js';
import { Epochs } from '../credentials/epochs.js';
import { Passwords } from '../credentials/passwords.js';
import { SessionTokens } from '../credentials/session-tokens.js';
import { LOGIN_GUARD_DEFAULTS, LoginGuard } from '../edge/login-guard.js';
import { CONTROL_PLANE, type Records } from '../records/batch.js';
import type { MadeCluster } from '../records/clusters.js';
import { registerKey } from '../records/keys.js';
import { done, type FakeRecords, withCluster } from '../records/records.fake.js';
import { Turns } from '../records/turns.js';
import { createUser, setOperators } from '../records/users.js';
import { BrokerUnavailableError } from '../upkeep/inventory.js';
import { OwnRoutes } from './own-routes.js';
import type { BrokerRequest, OwnAnswer, OwnRequest, RouteConfig, RouteParts } from './route.js';
import { StateTokens } from './state-tokens.js';
import { OWN_ROUTES } from './table.js';

export const CONTROL_TOKEN = 'control-plane-token';

export const ROLE_NAMES = ['admin', 'viewer', 'operator'] as const;
export type UserName = (typeof ROLE_NAMES)[number];

/** The parts of a request besides its path and body. */
export interface Brings {
  readonly [header: string]: string;
}

export class FakeBroker {
  readonly calls: (BrokerRequest & { readonly tenant: string })[] = [];
  isAway = false;
  answer: { readonly status: number; readonly body: object } = { status: 200, body: {} };
  retained = 0;

  async call(tenant: string, request: BrokerRequest) {
    if (this.isAway) throw new BrokerUnavailableError('away');
    this.calls.push({ tenant, ...request });
    const { status, body } = this.answer;
    return { status, body: Buffer.from(JSON.stringify(body)) };
  }

  async retainedBytes(): Promise<number> {
    if (this.isAway) throw new BrokerUnavailableError('away');
    return this.retained;
  }
}

export interface RouteNode {
  readonly records: FakeRecords;
  readonly made: MadeCluster;
  readonly parts: RouteParts;
  readonly broker: FakeBroker;
  readonly granted: string[];
  readonly logged: string[];
  readonly users: { readonly [Name in UserName]: { readonly id: string; readonly bearer: string } };
  readonly apiKey: string;
  /** `at`: `METHOD /path?query`. A string is sent as it is. */
  ask(at: string, body?: unknown, headers?: Brings): Promise<OwnAnswer>;
  /** `target`: path and query of a page. null: it is given. */
  askPage(target: string, headers: Brings): Promise<OwnAnswer | null>;
}

const CONFIG: RouteConfig = {
  controlPlaneToken: CONTROL_TOKEN,
  hasTenants: true,
  operatorEnabled: true,
  sharedHosts: new Set(),
  defaultCluster: null,
  cookieName: 'svc_session',
  cookieDomain: null,
  sessionS: 86_400,
  portal: null,
  publicUrl: null,
  isAuthHost: false,
  autoProvision: null,
};

export async function routeNode(
  config: Partial<RouteConfig> = {},
  given: Partial<RouteParts> = {},
): Promise<RouteNode> {
  const { made, ...records } = await withCluster();
  const { clock, random } = records;
  const epochs = new Epochs();
  const marking: Records = { ...records, onInvalidated: (owner) => epochs.mark(owner) };
  const secret = 'a secret of thirty-two characters';
  const signing = await SessionTokens.create({ secret, issuer: 'svc-proxy', clock, random });
  const tokens = given.tokens ?? signing;
  const credentials = new Credentials({
    records,
    clock,
    tokens,
    epochs,
    graceMs: 600_000,
    isStrict: true,
  });
  const broker = new FakeBroker();
  const granted: string[] = [];
  const logged: string[] = [];
  const say = (_target: string, text: string) => void logged.push(text);
  const parts: RouteParts = {
    records: marking,
    credentials,
    tokens,
    passwords: new Passwords(),
    logins: new LoginGuard(LOGIN_GUARD_DEFAULTS),
    providers: [],
    providerTurns: new Turns(4, 4),
    listTurns: new Turns(1, 4),
    pause: () => Promise.resolve(),
    states: new StateTokens(secret, clock, random),
    pushBlock: () => null,
    broker,
    grants: {
      ensure: async (tenant) => {
        if (broker.isAway) throw new BrokerUnavailableError('away');
        granted.push(tenant);
      },
    },
    logger: { error: say, warn: say, info: say },
    config: { ...CONFIG, ...config },
    ...given,
  };
  const routes = new OwnRoutes(parts, OWN_ROUTES);
  const users = await fixtureUsers(marking, made, signing);
  const { plaintext, hash } = newApiKey(random);
  const key = { clusterId: made.cluster.id, name: 'fixture', keyHash: hash };
  done(await registerKey(marking, CONTROL_PLANE, { ...key, scopes: ['admin'] }));
  return {
    records,
    made,
    parts,
    broker,
    granted,
    logged,
    users,
    apiKey: plaintext,
    ask: (at, body, headers = {}) => routes.answer(requestOf(at, body, headers)),
    askPage: (target, headers) => routes.gatePage(requestOf(`GET ${target}`, '', headers)),
  };
}

async function fixtureUsers(
  records: Records,
  { tenant, cluster }: MadeCluster,
  tokens: SessionTokens,
): Promise<RouteNode['users']> {
  const user = async (email: string, role: Role | null) => {
    const roles = role === null ? [] : [{ clusterId: cluster.id, role }];
    const wanted = { tenantId: tenant.id, email, roles, action: 'user_created' } as const;
    const { id } = done(await createUser(records, CONTROL_PLANE, wanted));
    return { id, bearer: await tokens.sign(id, 3_600) };
  };
  const users = {
    admin: await user('admin@acme.example', 'admin'),
    viewer: await user('viewer@acme.example', 'viewer'),
    operator: await user('operator@acme.example', null),
  };
  await setOperators(records, ['operator@acme.example']);
  return users;
}

function requestOf(at: string, body: unknown, headers: Brings): OwnRequest {
  const [method = '', target = ''] = at.split(' ');
  const [path = '', query = ''] = target.split('?');
  const all: Brings = { host: 'acme.svc.example', ...headers };
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? {});
  const bytes = Buffer.from(text);
  return {
    method,
    path,
    query,
    header: (name) => all[name],
    clientKey: all['x-client'] ?? '192.0.2.1',
    isSecure: all['x-tls'] === 'yes',
    readBody: async (bytesMax) => (bytes.length > bytesMax ? null : bytes),
  };
}

export const control: Brings = { 'x-svc-cp-token': CONTROL_TOKEN };

export function bearer(text: string): Brings {
  return { authorization: `Bearer ${text}` };
}

/** Status and body as JSON. */
export function shown({ status, body }: OwnAnswer): readonly [number, unknown] {
  return [status, JSON.parse(String(body))];
}

/** Status and code of a refusal. */
export function codeOf({ status, body }: OwnAnswer): string {
  return `${status} ${JSON.parse(String(body)).code}`;
}
