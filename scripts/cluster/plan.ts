/**
 * Which nodes there are and where: chosen at the first run and kept beside the data, because the
 * addresses between nodes become part of the cluster when it is founded.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join, relative } from 'node:path';
import type { Options } from './options.js';

export interface PlannedNode {
  readonly id: number;
  readonly httpPort: number;
  readonly raftPort: number;
}

export interface Plan {
  readonly nodes: readonly PlannedNode[];
  /** The secret between the nodes. */
  readonly token: string;
}

/** What the operator can read and mend; printed without a stack. */
export class PlanError extends Error {}

export const HOST = '127.0.0.1';
const STANDARD_PORT = 6632;
/** The smallest number of which one may fail. */
const NODES = 3;

export function nodeDirectory(directory: string, id: number): string {
  return join(directory, `node-${id}`);
}

export function logFile(directory: string, id: number): string {
  return join(directory, `node-${id}.log`);
}

/** From where this program was called, if that is shorter. */
export function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short.length < path.length ? short : path;
}

function planFile(directory: string): string {
  return join(directory, 'cluster.json');
}

export function newToken(): string {
  return randomBytes(24).toString('hex');
}

function portsOf({ nodes }: Plan): number[] {
  return nodes.flatMap(({ httpPort, raftPort }) => [httpPort, raftPort]);
}

/** Where the cluster stands that follows the one in `directory`. */
export function standbyDirectory(directory: string): string {
  return join(directory, 'standby');
}

/** The plan of the cluster that follows the one of `options`; null: none is wanted. */
export async function makeStandbyPlan(options: Options, source: Plan): Promise<Plan | null> {
  if (!options.standby) return null;
  const behind = (first: number | null) => (first === null ? null : first + NODES);
  const changed = {
    directory: standbyDirectory(options.directory),
    nodePort: behind(options.nodePort),
    raftPort: behind(options.raftPort),
  };
  return makePlan({ ...options, ...changed }, portsOf(source));
}

/** The plan of the directory, or a new one in it, whose ports are not `others`. */
export async function makePlan(options: Options, others: readonly number[] = []): Promise<Plan> {
  const { directory, fresh } = options;
  const file = planFile(directory);
  const kept = readPlan(file);
  for (const port of kept === null ? [] : portsOf(kept)) await refuseTaken(port, directory);
  if (kept !== null && !fresh) {
    refuseOther(kept, options);
    return kept;
  }
  if (fresh) await forgetStandby(directory);
  if (kept !== null) forget(kept, directory);
  const nodes = await chooseNodes(options, others);
  const plan: Plan = { nodes, token: newToken() };
  makeDirectory(directory);
  writeFileSync(`${file}.new`, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return plan;
}

/** For this user alone: what clients send is stored below it. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isFile = code === 'EEXIST' || code === 'ENOTDIR';
    const what = isFile ? 'is not a directory' : `cannot be made (${code ?? String(error)})`;
    throw new PlanError(`${directory} ${what}: name another one with --dir`);
  }
}

/** Where clients reach the cluster. */
export async function balancerPort(wanted: number | null): Promise<number> {
  if (wanted === null) return (await isTaken(STANDARD_PORT)) ? freePort() : STANDARD_PORT;
  if (await isTaken(wanted)) throw new PlanError(`port ${wanted} is in use`);
  return wanted;
}

/** The same list for every node, as SVC_RAFT_PEERS takes it. */
export function peerList({ nodes }: Plan): string {
  return nodes
    .map(({ id, raftPort, httpPort }) => `${id}=${HOST}:${raftPort}/${HOST}:${httpPort}`)
    .join(',');
}

/** The nodes of `plan` as a standby reaches them. */
export function sourceList({ nodes }: Plan): string {
  return nodes.map(({ raftPort }) => `${HOST}:${raftPort}`).join(',');
}

/** A standby has nothing to follow once its source is forgotten. */
async function forgetStandby(directory: string): Promise<void> {
  const behind = standbyDirectory(directory);
  const plan = readPlan(planFile(behind));
  if (plan === null) return;
  for (const port of portsOf(plan)) await refuseTaken(port, behind);
  forget(plan, behind);
  rmSync(planFile(behind));
}

/** Removes what a former run made, by name; whatever else stands in the directory stays. */
function forget({ nodes }: Plan, directory: string): void {
  for (const { id } of nodes) {
    rmSync(nodeDirectory(directory, id), { recursive: true, force: true });
    rmSync(logFile(directory, id), { force: true });
  }
}

function readPlan(file: string): Plan | null {
  if (!existsSync(file)) return null;
  try {
    const plan = JSON.parse(readFileSync(file, 'utf8')) as Plan;
    const isWhole =
      typeof plan.token === 'string' &&
      plan.nodes.length === NODES &&
      plan.nodes.every(({ id, httpPort, raftPort }) => [id, httpPort, raftPort].every(isPositive));
    if (isWhole) return plan;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw new PlanError(`${file} does not parse: put it back, or move its directory away`);
}

function isPositive(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) > 0;
}

function refuseOther(kept: Plan, { nodePort, raftPort, directory }: Options): void {
  const [first] = kept.nodes;
  const differs =
    (nodePort !== null && nodePort !== first?.httpPort) ||
    (raftPort !== null && raftPort !== first?.raftPort);
  if (!differs) return;
  throw new PlanError(
    `${directory} holds a cluster whose nodes have other ports: leave the options away, ` +
      'name another --dir, or give it up with --fresh',
  );
}

/** The listener there may be a node of this very cluster. */
async function refuseTaken(port: number, directory: string): Promise<void> {
  if (!(await isTaken(port))) return;
  throw new PlanError(
    `port ${port} of the cluster in ${directory} is in use: is it running already? ` +
      'Stop what uses the port, or name another --dir',
  );
}

async function chooseNodes(
  { nodePort, raftPort }: Options,
  others: readonly number[],
): Promise<PlannedNode[]> {
  const chosen: PlannedNode[] = [];
  const used = new Set<number>([STANDARD_PORT, ...others]);
  const choose = async (first: number | null, offset: number): Promise<number> => {
    const port = first === null ? await freePort(used) : first + offset;
    if (used.has(port) || (await isTaken(port))) throw new PlanError(`port ${port} is in use`);
    used.add(port);
    return port;
  };
  for (let offset = 0; offset < NODES; offset++) {
    const httpPort = await choose(nodePort, offset);
    const raft = await choose(raftPort, offset);
    chosen.push({ id: offset + 1, httpPort, raftPort: raft });
  }
  return chosen;
}

/** Asked of the system; it may be gone again when it is used, and the node then says so. */
async function freePort(except: ReadonlySet<number> = new Set()): Promise<number> {
  for (;;) {
    const port = await new Promise<number>((resolve, reject) => {
      const server = createServer();
      server.on('error', reject);
      server.listen(0, HOST, () => {
        const address = server.address();
        const found = address !== null && typeof address === 'object' ? address.port : 0;
        server.close(() => resolve(found));
      });
    });
    if (!except.has(port)) return port;
  }
}

/** Somebody listens there, on this address or on all. */
function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
