/**
 * The configuration: environment variables in, one checked record out.
 *
 * Reading is pure. The result is either complete, with every value in its bounds, or the text of
 * the one refusal with which the boot ends; there is no partial configuration and no later second
 * opinion.
 */
import { randomBytes } from 'node:crypto';
import type { LoggingOptions } from '../system/logging.js';
import { type HostAndPort, hostAndPortOf } from './addresses.js';
import { missingKeyOf } from './authentication.js';
import type { Peer } from './peers.js';
import { standbyContradictionOf } from './standby.js';
import type { Environment, Parsed } from './values.js';
import type { Variable } from './variable.js';
import { ABSENT_VARIABLES, VARIABLES } from './variables.js';

type ValueOf<Row> = Row extends Variable<infer Value> ? Value : never;

/** One field per row of the table; its meaning stands there. */
type Settings = {
  readonly [Field in keyof typeof VARIABLES]: ValueOf<(typeof VARIABLES)[Field]>;
};

export interface Config extends Omit<Settings, 'serverId'> {
  readonly kind: 'config';
  readonly serverId: string;
  /** The addresses that the peer list gives this node; null without a list. */
  readonly self: Peer | null;
  /** Where this node listens for others; null: it has no raft port. */
  readonly raftAddress: HostAndPort | null;
  /** Deadline of push and management calls. */
  readonly writeTimeoutMs: number;
  readonly logging: LoggingOptions;
}

/** `error` is what stands after `FATAL: `. */
export interface ConfigError {
  readonly kind: 'refused';
  readonly error: string;
}

/** `serverIdStandard` names a node that neither `SVC_SERVER_ID` nor `HOSTNAME` names. */
export function readConfig(
  environment: Environment,
  serverIdStandard: string = `svc-${randomBytes(4).toString('hex')}`,
): Config | ConfigError {
  for (const row of ABSENT_VARIABLES) {
    const parsed = read(row, environment);
    if (!parsed.ok) return { kind: 'refused', error: parsed.error };
  }
  const settings = readSettings(environment);
  if (!settings.ok) return { kind: 'refused', error: settings.error };
  const { value } = settings;
  const contradiction = contradictionOf(value);
  if (contradiction !== null) return { kind: 'refused', error: contradiction };
  const self = value.peers.find(({ id }) => id === value.nodeId) ?? null;
  return {
    ...value,
    kind: 'config',
    serverId: value.serverId ?? serverIdStandard,
    self,
    raftAddress: raftAddressOf(value, self),
    writeTimeoutMs: value.popTimeoutMs,
    logging: { level: value.logFilter, json: value.logJson },
  };
}

/** The effective configuration, one line per area, secrets masked. */
export function describeConfig(config: Config): string[] {
  const lines = new Map<string, string>();
  for (const [field, row] of rows()) {
    const start = lines.get(row.area) ?? `config: ${row.area}`;
    lines.set(row.area, `${start} ${row.names[0]}=${row.kind.show(config[field])}`);
  }
  return [...lines.values()];
}

function rows(): [keyof Settings, Variable<unknown>][] {
  return Object.entries(VARIABLES) as [keyof Settings, Variable<unknown>][];
}

function readSettings(environment: Environment): Parsed<Settings> {
  const settings: { [field: string]: unknown } = {};
  for (const [field, row] of rows()) {
    const parsed = read(row, environment);
    if (!parsed.ok) return parsed;
    settings[field] = parsed.value;
  }
  return { ok: true, value: settings as unknown as Settings };
}

function read<Value>(row: Variable<Value>, environment: Environment): Parsed<Value> {
  const [first, ...others] = row.names;
  const isSet = (name: string) => (environment[name] ?? '').trim() !== '';
  const name = isSet(first) ? first : (others.find(isSet) ?? first);
  return row.kind.parse(environment[name], name, environment);
}

/** Every interface, at the port where the others look for this node, unless it is named. */
function raftAddressOf(settings: Settings, self: Peer | null): HostAndPort | null {
  if (settings.replicator === 'local') return null;
  if (settings.raftListen !== null) return settings.raftListen;
  const own = self === null ? null : hostAndPortOf(self.raftAddress);
  return own === null ? null : { host: '0.0.0.0', port: own.port };
}

/** What single values cannot tell. */
function contradictionOf(settings: Settings): string | null {
  const { nodeId, peers } = settings;
  if (peers.length > 0 && settings.replicator === 'local') {
    return 'SVC_RAFT_PEERS needs SVC_RAFT_REPLICATOR=openraft';
  }
  if (peers.length > 0 && !peers.some((peer) => peer.id === nodeId)) {
    return `SVC_RAFT_NODE_ID=${nodeId} is not in SVC_RAFT_PEERS`;
  }
  if (settings.replicator === 'local' && settings.raftJoin) {
    return 'SVC_RAFT_JOIN needs SVC_RAFT_REPLICATOR=openraft: a `local` node is never added';
  }
  if (settings.forceRecover !== null && settings.forceRecover !== nodeId) {
    return (
      `SVC_RAFT_FORCE_RECOVER=${settings.forceRecover}, but this node is ${nodeId}: ` +
      'it names the ONE surviving node to recover, and is set on that node only'
    );
  }
  if (settings.forceRecover !== null && settings.replicator === 'local') {
    return 'SVC_RAFT_FORCE_RECOVER needs SVC_RAFT_REPLICATOR=openraft';
  }
  if ((settings.gatewayTlsCertificate === null) !== (settings.gatewayTlsKey === null)) {
    return 'SVC_TLS_CERT and SVC_TLS_KEY are needed together: one of them is set alone';
  }
  if (settings.autopilotBatchMin > settings.autopilotBatchMax) {
    return (
      `SVC_RAFT_AUTOPILOT_BATCH_MIN=${settings.autopilotBatchMin} is above ` +
      `SVC_RAFT_AUTOPILOT_BATCH_MAX=${settings.autopilotBatchMax}`
    );
  }
  if (settings.heartbeatMs >= settings.electionMs) {
    return (
      `SVC_RAFT_HEARTBEAT_MS=${settings.heartbeatMs} is not below ` +
      `SVC_RAFT_ELECTION_MS=${settings.electionMs}: ` +
      'a leader would lose its followers between two beats'
    );
  }
  if (settings.tenancyHeader && !settings.trustedProxy) {
    return (
      'SVC_TENANCY_HEADER=true needs SVC_KV_TRUSTED_PROXY=true: the tenant header is believed as ' +
      'it comes, so only a proxy that sets it may reach this node'
    );
  }
  return standbyContradictionOf(settings) ?? missingKeyOf(settings);
}
