// Goal: who is let through, and what everybody else is told, in the order of the contract. Method:
// every class by every credential, scope, role, feature and status against a second statement of
// the specification's matrix; then the order itself, by cases.
import type { GatewayClass } from '@svc/http';
import { describe, expect, test } from 'vitest';
import { CLUSTER_STATUSES, ROLES, SCOPES } from '../base/access.js';
import type { Caller, KeyCaller, SessionCaller } from '../base/caller.js';
import { fakeCluster } from '../base/cluster-view.fake.js';
import type { ClusterView } from '../base/cluster-view.js';
import type { PushBlock } from '../limits/limits.js';
import type { BodySummary } from './body-summary.js';
import { CLASSES } from './classes.js';
import { type Decision, decide, type Facts, hostOf, type PipelineConfig } from './decide.js';
import type { RouteTarget } from './targets.js';

const CONFIG: PipelineConfig = {
  sharedHosts: new Set(),
  defaultCluster: null,
  operatorEnabled: true,
  devInsecure: false,
};

const acme = fakeCluster();
const other = fakeCluster({ id: '55555555-5555-4555-8555-555555555555', slug: 'other' });

const key = (more: Partial<KeyCaller> = {}): KeyCaller => {
  return { kind: 'key', keyId: 'k', clusterId: acme.id, scopes: SCOPES, ...more };
};
const session = (more: Partial<SessionCaller> = {}): SessionCaller => {
  const none = { jti: 'j', clusterId: null, isOperator: false, expiresS: 9 };
  return { kind: 'session', userId: 'u', ...none, ...more };
};

interface Asked {
  readonly gatewayClass: GatewayClass;
  /** null: none; undefined: one that is not good. */
  readonly caller: Caller | null | 'bad';
  readonly role?: (typeof ROLES)[number] | null;
  readonly cluster?: ClusterView;
  readonly body?: Partial<BodySummary> | null;
  readonly rule?: RouteTarget['body'];
  readonly host?: string;
  readonly act?: string;
  readonly config?: Partial<PipelineConfig>;
  readonly block?: PushBlock;
}

const NOTHING: BodySummary = {
  items: 0,
  timers: 0,
  largest: null,
  destinations: [],
  growing: null,
  isFacade: false,
  features: new Set(),
  retention: [],
};

/** Answers whatever `decide` lacks, and tells what it lacked beside the decision. */
function ask(asked: Asked): { readonly decision: Decision; readonly needs: string[] } {
  const { gatewayClass, caller, role = null, cluster = acme, body = {} } = asked;
  const target: RouteTarget = {
    kind: 'route',
    at: 'GET /x',
    gatewayClass,
    body: asked.rule ?? null,
    op: 'read',
    isPop: false,
  };
  const request = {
    target,
    host: asked.host ?? 'acme.example',
    actCluster: asked.act ?? null,
    hasCredential: caller !== null,
  };
  const known = [cluster, other];
  const facts: { -readonly [Name in keyof Facts]: Facts[Name] } = {};
  const needs: string[] = [];
  for (let turn = 0; turn < 10; turn++) {
    const decision = decide(request, facts, { ...CONFIG, ...asked.config }, () => {
      return asked.block ?? null;
    });
    if (decision.kind !== 'need') return { decision, needs };
    needs.push(decision.need);
    switch (decision.need) {
      case 'named':
      case 'fallback': {
        const { name } = decision.by;
        facts[decision.need] = known.find(({ id, slug }) => id === name || slug === name) ?? null;
        break;
      }
      case 'caller':
        facts.caller = caller === 'bad' ? null : caller;
        break;
      case 'role':
        facts.role = role;
        break;
      case 'body':
        facts.body = body === null ? null : { ...NOTHING, ...body };
        break;
      case 'control-plane':
        facts.isControlPlane = false;
    }
  }
  throw new Error(`it lacks ${needs.join()}`);
}

/** `status code` of a refusal, or `passed`. */
function told(asked: Asked): string {
  const { decision } = ask(asked);
  if (decision.kind === 'passed') return 'passed';
  if (decision.kind === 'need') throw new Error(`it lacks ${decision.need}`);
  return `${decision.refusal.status} ${decision.refusal.code}`;
}

// --- the matrix, a second time -------------------------------------------------------------------

const CLASS_NAMES = Object.keys(CLASSES) as GatewayClass[];

/** As the specification's table has it (Gateway credentials 8), by words and not by the code. */
function mayPass(gatewayClass: GatewayClass, who: string, isKey: boolean): boolean {
  const [scope, role] = isKey ? [who, ''] : ['', who];
  const [, half = ''] = /^(?:streams|traces|kv|timers|ephemeral)-(.*)$/.exec(gatewayClass) ?? [];
  if (half === 'read') return true;
  if (half !== '') return isKey ? ['produce', 'consume'].includes(scope) : role !== 'viewer';
  switch (gatewayClass) {
    case 'produce':
      return isKey ? scope === 'produce' : role === 'admin' || role === 'producer';
    case 'consume':
      return isKey ? scope === 'consume' : role === 'admin' || role === 'consumer';
    case 'queue-admin':
      return isKey ? scope === 'admin' : role === 'admin';
    case 'read':
      return isKey ? scope === 'read' || scope === 'admin' : true;
    default:
      return false;
  }
}

const FEATURE = /^(streams|traces|kv|timers|ephemeral)-(read|grow|open|mixed)$/;
const GROWING = /^produce$|-grow$|-mixed$/;

function expected(asked: Required<Pick<Asked, 'gatewayClass' | 'caller' | 'cluster'>>): string {
  const { gatewayClass, caller, cluster } = asked;
  const isMixed = gatewayClass.endsWith('-mixed');
  if (gatewayClass === 'public') return 'passed';
  if (gatewayClass === 'metrics') return '404 route_blocked';
  if (['suspended', 'deleting'].includes(cluster.status)) return '403 cluster_suspended';
  if (gatewayClass === 'blocked') return '404 route_blocked';
  const feature = FEATURE.exec(gatewayClass)?.[1];
  if (feature !== undefined && !cluster.features[feature as keyof typeof cluster.features]) {
    return '403 feature_gated';
  }
  const isBlocked = cluster.status === 'push_blocked' && GROWING.test(gatewayClass);
  if (isBlocked && !isMixed) return '403 push_blocked';
  if (caller === null || caller === 'bad') return '401 unauthorized';
  return isBlocked ? '403 push_blocked' : 'caller';
}

const FEATURE_SETS = [acme.features, ...Object.keys(acme.features).map(without)];

function without(name: string): ClusterView['features'] {
  return { ...acme.features, [name]: false };
}

describe.each(CLASS_NAMES)('%s', (gatewayClass) => {
  const clusters = CLUSTER_STATUSES.flatMap((status) =>
    FEATURE_SETS.map((features) => fakeCluster({ status, features })),
  );
  const isForOperators = gatewayClass === 'operator';
  const forbidden = isForOperators ? '404 route_blocked' : '403 forbidden';

  test.each(CLUSTER_STATUSES)('while the cluster is %s', (status) => {
    for (const cluster of clusters.filter((one) => one.status === status)) {
      const growing = { growing: 'op at index 0 (put) makes the store grow' };
      const base = { gatewayClass, cluster, body: growing };
      for (const caller of [null, 'bad'] as const) {
        expect(told({ ...base, caller })).toBe(expected({ gatewayClass, cluster, caller }));
      }
      const check = (caller: Caller, role: (typeof ROLES)[number] | null, isAllowed: boolean) => {
        const first = expected({ gatewayClass, cluster, caller });
        const passes = isAllowed ? 'passed' : forbidden;
        expect(told({ ...base, caller, role }), JSON.stringify({ caller, role })).toBe(
          first === 'caller' ? passes : first,
        );
      };
      for (const scope of SCOPES) {
        check(key({ scopes: [scope] }), null, mayPass(gatewayClass, scope, true));
      }
      for (const role of ROLES) check(session(), role, mayPass(gatewayClass, role, false));
      check(session(), null, false);
      check(session({ isOperator: true }), null, isForOperators || !isClosed(gatewayClass));
    }
  });
});

/** Not even an operator gets there as one. */
function isClosed(gatewayClass: GatewayClass): boolean {
  return ['blocked', 'metrics'].includes(gatewayClass);
}

// --- the order -----------------------------------------------------------------------------------

const push = { gatewayClass: 'produce', caller: key() } as const;

describe('the cluster of a host', () => {
  test.each<[string, Partial<Asked>, string]>([
    ['the first label', { host: 'acme.example' }, 'passed'],
    ['no such label', { host: 'none.example' }, '421 cluster_unknown'],
    ['no host at all', { host: '' }, '421 cluster_unknown'],
    ['the default', { host: 'none', config: { defaultCluster: 'acme' } }, 'passed'],
    [
      'a default that is none',
      { host: '', config: { defaultCluster: 'x' } },
      '421 cluster_unknown',
    ],
    ['before the route', { host: 'none', gatewayClass: 'blocked' }, '421 cluster_unknown'],
    ['before the credential', { host: 'none', caller: null }, '421 cluster_unknown'],
    ['a key of another', { caller: key({ clusterId: other.id }) }, '403 forbidden'],
    ['a token of another', { caller: session({ clusterId: other.id }) }, '403 forbidden'],
  ])('%s', (_name, more, wanted) => {
    expect(told({ ...push, ...more })).toBe(wanted);
  });

  test('a key of another cluster is told so literally', () => {
    const { decision } = ask({ ...push, caller: key({ clusterId: other.id }) });
    expect(decision).toMatchObject({ refusal: { error: 'key/cluster mismatch' } });
  });

  test('hosts are read without port and case', () => {
    expect(['Acme.B:6632', ' a ', undefined, '[::1]:80'].map(hostOf)).toEqual([
      'acme.b',
      'a',
      '',
      '[::1]',
    ]);
  });
});

describe('where a credential names the cluster', () => {
  const shared = { config: { sharedHosts: new Set(['api.example']) }, host: 'api.example' };
  const suspended = fakeCluster({ status: 'suspended' });

  test.each<[string, Partial<Asked>, string]>([
    ['a key names its own', {}, 'passed'],
    ['a session has to name one', { caller: session(), role: 'admin' }, '421 cluster_unknown'],
    ['a session names one', { caller: session(), role: 'admin', act: 'acme' }, 'passed'],
    [
      'by its id',
      { caller: session(), role: 'admin', act: ` ${acme.id.toUpperCase()} ` },
      'passed',
    ],
    ['that is not there', { caller: session(), act: 'none' }, '421 cluster_unknown'],
    ['a stranger to it', { caller: session(), act: 'other' }, '403 forbidden'],
    ['a key may not name one', { act: 'acme' }, '403 forbidden'],
    ['no credential', { caller: null }, '401 unauthorized'],
    ['a bad one', { caller: 'bad' }, '401 unauthorized'],
    ['nothing is told before one', { caller: null, cluster: suspended }, '401 unauthorized'],
    ['also on other hosts', { caller: null, host: 'none.example' }, '401 unauthorized'],
    ['with one it is', { cluster: suspended }, '403 cluster_suspended'],
    [
      'but not to those who do not belong to it',
      { caller: session(), act: 'acme', cluster: suspended },
      '403 forbidden',
    ],
    [
      'a closed route is 404 at once',
      { caller: null, gatewayClass: 'blocked' },
      '404 route_blocked',
    ],
    ['a key of another cluster', { host: 'other.example' }, '403 forbidden'],
  ])('%s', (_name, more, wanted) => {
    expect(told({ ...push, ...shared, ...more })).toBe(wanted);
  });

  test('x-svc-act-cluster has the same effect on any host', () => {
    expect(told({ ...push, act: 'acme', caller: null })).toBe('401 unauthorized');
    expect(told({ ...push, act: 'acme' })).toBe('403 forbidden');
    expect(told({ ...push, act: 'acme', caller: session(), role: 'producer' })).toBe('passed');
  });
});

describe('operators', () => {
  const asks = { gatewayClass: 'operator', caller: session({ isOperator: true }) } as const;

  test.each<[string, Partial<Asked>, string]>([
    ['a live one', {}, 'passed'],
    ['the capability off', { config: { operatorEnabled: false } }, '404 route_blocked'],
    [
      'off, before a credential',
      { caller: null, config: { operatorEnabled: false } },
      '404 route_blocked',
    ],
    ['no credential', { caller: null }, '401 unauthorized'],
    ['an administrator', { caller: session(), role: 'admin' }, '404 route_blocked'],
    ['a stranger', { caller: session(), role: null }, '404 route_blocked'],
    ['a key', { caller: key() }, '404 route_blocked'],
    ['a key of another cluster', { caller: key({ clusterId: other.id }) }, '404 route_blocked'],
  ])('%s', (_name, more, wanted) => {
    expect(told({ ...asks, ...more })).toBe(wanted);
  });

  test('are administrators of every cluster, and without the capability are users', () => {
    const operator = session({ isOperator: true });
    expect(told({ ...push, caller: operator, role: null })).toBe('passed');
    const off = { operatorEnabled: false };
    expect(told({ ...push, caller: operator, role: null, config: off })).toBe('403 forbidden');
  });
});

describe('blocks of growth', () => {
  test.each<[string, PushBlock | undefined, ClusterView, string]>([
    ['storage', 'storage', acme, '403 storage_quota_exceeded'],
    ['the month', 'monthly', acme, '403 quota_exceeded'],
    [
      'a quota before the status',
      'storage',
      fakeCluster({ status: 'push_blocked' }),
      '403 storage_quota_exceeded',
    ],
    ['the status', undefined, fakeCluster({ status: 'push_blocked' }), '403 push_blocked'],
  ])('%s', (_name, block, cluster, wanted) => {
    const more = { cluster, ...(block === undefined ? {} : { block }) };
    expect(told({ ...push, ...more })).toBe(wanted);
    expect(told({ ...push, ...more, caller: null }), 'before the credential').toBe(wanted);
    expect(told({ ...more, gatewayClass: 'consume', caller: key() })).toBe('passed');
    expect(told({ ...more, gatewayClass: 'kv-open', caller: key() })).toBe('passed');
    expect(told({ ...more, gatewayClass: 'kv-grow', caller: key() })).toBe(wanted);
    expect(told({ ...more, gatewayClass: 'streams-open', caller: key() })).toBe('passed');
  });

  test('a mixed body is refused whole, and told why', () => {
    const asked = { gatewayClass: 'timers-mixed', rule: 'timers', caller: key() } as const;
    expect(ask({ ...asked, block: 'storage' }).decision.kind).toBe('passed');
    const growing = { growing: 'op at index 2 (schedule) makes the store grow' };
    expect(ask({ ...asked, block: 'storage', body: growing }).decision).toMatchObject({
      refusal: {
        code: 'storage_quota_exceeded',
        error: 'storage quota exceeded: op at index 2 (schedule) makes the store grow',
      },
    });
    expect(told({ ...asked, block: 'storage', body: null }), 'one that cannot be read').toBe(
      '403 storage_quota_exceeded',
    );
  });

  test('a body is read only where it can change something', () => {
    const asked = { gatewayClass: 'kv-mixed', rule: 'kv', caller: key() } as const;
    expect(ask(asked).needs).not.toContain('body');
    expect(ask({ ...asked, block: 'storage' }).needs).toContain('body');
    expect(ask({ ...asked, block: 'storage', caller: null }).needs).not.toContain('body');
    expect(ask({ ...asked, block: 'storage', caller: 'bad' }).needs).not.toContain('body');
    expect(ask({ gatewayClass: 'timers-mixed', rule: 'timers', caller: key() }).needs).toEqual([
      'named',
      'caller',
    ]);
  });
});

describe('the books of the log facade', () => {
  const cluster = fakeCluster({ features: without('kv') });
  const asked = { gatewayClass: 'kv-mixed', rule: 'kv', cluster } as const;
  const facade = { isFacade: true, growing: 'op at index 0 (put) makes the store grow' };
  const consumer = key({ scopes: ['consume'] });
  const producer = key({ scopes: ['produce'] });

  test.each<[string, Partial<Asked>, string]>([
    ['need no feature', { caller: consumer, body: facade }, 'passed'],
    ['are not blocked', { caller: consumer, body: facade, block: 'storage' }, 'passed'],
    ['are what a consumer does', { caller: producer, body: facade }, '403 forbidden'],
    ['also with the feature', { caller: producer, body: facade, cluster: acme }, '403 forbidden'],
    ['other bodies need it', { caller: consumer }, '403 feature_gated'],
    ['and so do those that cannot be read', { caller: consumer, body: null }, '403 feature_gated'],
    ['strangers are told of the feature', { caller: null, body: facade }, '403 feature_gated'],
  ])('%s', (_name, more, wanted) => {
    expect(told({ ...asked, caller: consumer, ...more })).toBe(wanted);
  });
});

test('without authentication everything but closed routes is let through', () => {
  const config = { devInsecure: true };
  expect(told({ ...push, caller: null, config })).toBe('passed');
  expect(told({ ...push, caller: null, config, act: 'other' })).toBe('passed');
  expect(told({ gatewayClass: 'blocked', caller: null, config })).toBe('404 route_blocked');
  expect(told({ ...push, caller: null, config, block: 'storage' })).toBe(
    '403 storage_quota_exceeded',
  );
});
