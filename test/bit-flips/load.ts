/**
 * The clusters that bits are flipped in, each loaded once: messages in several sealed segments and
 * an active one, acks, dead letters, a lease that stands, changes of leader and of the members; and
 * one machine, the victim, that was stopped in one of several ways.
 */
import { memberId, type Node } from '@svc/broker';
import type { SubmittedOutcome } from '@svc/http';
import { pushCommand, TENANT } from '../simulation/client-messages.js';
import { DIRECTORY } from '../simulation/machine-settings.js';
import { entryText } from './entry-text.js';
import { History, QUEUE } from './history.js';
import { imageOf, type MachineImage } from './image.js';
import type { Machine } from './machine.js';
import { type Setting, START_US, World } from './world.js';

/** A cluster that stands still. */
export interface Loaded {
  readonly setting: Setting;
  readonly victim: number;
  readonly images: readonly MachineImage[];
  readonly history: History;
  /** By index: what was committed. */
  readonly entries: ReadonlyMap<number, string>;
  /** When it came to stand still. */
  readonly wallUs: number;
  /** By a start without any flip. */
  readonly indexesRebuilt: number;
}

type Still = Pick<Loaded, 'victim' | 'images' | 'wallUs'>;

/** How the victim ended. */
export type Stop = 'clean' | 'power';

const VICTIM = 2;
const SETTLE_MS = 3000;
/** More entries than there are. */
const LOG_KEPT = 100_000;
const CHURNED = 60;
const GIVE_BACK_MS_MAX = 60_000;
const INSTALL_MS_MAX = 30_000;
const INSTALL = `${DIRECTORY}/snapshot-install.json`;
const RECOVERING = `${DIRECTORY}/raft/recovering`;
const TURNS_MAX = 20_000;
/** A push is being written then. */
const POWER_MS = 1.5;

export async function loadCluster(stop: Stop, seed: number): Promise<Loaded> {
  const setting = { machines: 3, logKeep: LOG_KEPT };
  const { world, history } = found(setting, seed);
  fillWithChanges(world, history);
  world.run(SETTLE_MS);
  return stopVictim(world, history, setting, stop);
}

/** No log reaches back to the first entry any more. */
export async function loadGivenBack(stop: Stop, seed: number): Promise<Loaded> {
  const setting = { machines: 3, logKeep: 1 };
  const { world, history } = found(setting, seed);
  churn(world, history);
  fillWithChanges(world, history);
  giveBack(world, world.machines);
  return stopVictim(world, history, setting, stop);
}

/** The victim was without its vote when it stopped. */
export async function loadRecovering(seed: number): Promise<Loaded> {
  const loaded = await loadCluster('clean', seed);
  const images = loaded.images.map((image) => {
    if (image.number !== loaded.victim) return image;
    const text = new Uint8Array(Buffer.from('This node does not vote.\n'));
    return { ...image, files: new Map([...image.files, [RECOVERING, text]]) };
  });
  return { ...loaded, images };
}

/** The victim came back to a log that had been given back, and stopped while it took a snapshot. */
export function loadInstalling(phase: 'installing' | 'catching-up', seed: number): Loaded {
  const setting = { machines: 3, logKeep: 1 };
  const { world, history } = found(setting, seed);
  const victim = world.machine(VICTIM);
  victim.end('power');
  churn(world, history);
  fillWithChanges(world, history);
  giveBack(
    world,
    world.machines.filter((machine) => machine !== victim),
  );
  const entries = committedIn(world);
  victim.boot();
  const isThere = () =>
    victim.disk.paths().includes(INSTALL) &&
    Buffer.from(victim.disk.contents(INSTALL)).includes(`"${phase}"`);
  if (!world.until(isThere, INSTALL_MS_MAX)) throw new Error(`no install: ${world.picture()}`);
  return standStill(world, VICTIM, { setting, history, entries });
}

function found(setting: Setting, seed: number) {
  const world = new World(setting, seed, START_US, null);
  for (const machine of world.machines) machine.boot();
  configure(world);
  return { world, history: new History() };
}

/** Changes the leader twice, and the members. */
function fillWithChanges(world: World, history: History): void {
  fill(world, history, 50);
  transfer(world);
  changeMembers(world);
  fill(world, history, 50);
  transfer(world);
  fill(world, history, 20);
}

function giveBack(world: World, machines: readonly Machine[]): void {
  const isDone = () => machines.every(({ parts }) => (parts?.log.firstIndex ?? 0) > CHURNED / 2);
  if (!world.until(isDone, GIVE_BACK_MS_MAX)) throw new Error('the log is not given back');
  world.run(SETTLE_MS);
}

async function stopVictim(world: World, history: History, setting: Setting, stop: Stop) {
  const victim = world.machine(VICTIM);
  if (stop === 'clean') await stopInOrder(world, victim);
  else losePower(world, victim, history);
  fill(world, history, 3);
  world.run(SETTLE_MS);
  return standStill(world, VICTIM, { setting, history, entries: committedIn(world) });
}

export async function loadSingle(stop: Stop, seed: number): Promise<Loaded> {
  const setting = { machines: 1, logKeep: 1 };
  const world = new World(setting, seed, START_US, null);
  const history = new History();
  const victim = world.machine(1);
  victim.boot();
  configure(world);
  fill(world, history, 60);
  world.run(SETTLE_MS);
  // A new term.
  victim.end('process');
  victim.boot();
  fill(world, history, 50);
  const entries = committedIn(world);
  if (stop === 'clean') await stopInOrder(world, victim);
  else losePower(world, victim, history);
  return standStill(world, victim.number, { setting, history, entries });
}

/** Nothing runs any more. */
function standStill(
  world: World,
  victim: number,
  rest: Omit<Loaded, keyof Still | 'indexesRebuilt'>,
): Loaded {
  for (const machine of world.machines) if (machine.running) machine.end('process');
  const images = world.machines.map((machine) => imageOf(machine.number, machine));
  return { ...rest, victim, images, wallUs: world.wallUs, indexesRebuilt: 0 };
}

/** The committed entries that can be read now. */
function committedIn(world: World): Map<number, string> {
  const entries = new Map<number, string>();
  for (const { parts, status } of world.machines) {
    if (parts === null || status === null) continue;
    for (let index = parts.log.firstIndex; index <= status.commit; index++) {
      const [entry] = parts.log.entries(index, index + 1, 0);
      if (entry !== undefined) entries.set(index, entryText(entry));
    }
  }
  return entries;
}

/** Power goes while entries are being written; what is under way was acknowledged by nobody. */
function losePower(world: World, victim: Machine, history: History): void {
  for (let i = 0; i < 3; i++) {
    const messages = history.compose(2, 300);
    world.tell(world.leader?.number ?? 1, (broker, reply) =>
      broker.submit(pushCommand(QUEUE, messages), reply),
    );
    world.run(i === 2 ? POWER_MS : 5);
  }
  victim.end('power');
}

async function stopInOrder(world: World, victim: Machine): Promise<void> {
  let stopped = false;
  const { node } = victim;
  victim.enter(() => {
    void node?.stop().then(() => {
      stopped = true;
    });
  });
  for (let turn = 0; !stopped; turn++) {
    if (turn > TURNS_MAX) throw new Error(`the node does not stop; ${world.picture()}`);
    // What goes on behind a promise may have asked the disk for something.
    victim.enter(() => {});
    world.run(1);
    await new Promise((resolve) => void setImmediate(resolve));
  }
  victim.end('process');
}

function configure(world: World): void {
  const answer = world.askLeader<SubmittedOutcome>((broker, reply) =>
    broker.submit(
      {
        kind: 'configure',
        tenant: TENANT,
        queue: QUEUE,
        replace: false,
        changes: { retryLimit: 1, dedupWindowSeconds: null },
      },
      reply,
    ),
  );
  if (answer.kind === 'refused') throw new Error(JSON.stringify(answer));
}

/** A queue that comes and goes: the log before what stays can be given back. */
function churn(world: World, history: History): void {
  const queue = 'gone';
  for (let i = 0; i < CHURNED; i++) history.push(world, history.compose(1, 100), queue);
  world.askLeader<SubmittedOutcome>((broker, reply) =>
    broker.submit({ kind: 'delete-queue', tenant: TENANT, queue }, reply),
  );
}

function fill(world: World, history: History, pushes: number): void {
  for (let i = 0; i < pushes; i++) {
    history.push(world, history.compose(1 + (i % 3), (i * 7) % 90));
    if (i % 3 === 0) history.consume(world, 2, 'completed');
    if (i % 17 === 5) history.consume(world, 1, 'dlq');
  }
}

/** To and fro between the machines that stay. */
function transfer(world: World): void {
  const from = world.leader;
  const to = from?.number === 1 ? 3 : 1;
  if (from === null) return;
  from.enter(() => void from.node?.parts.consensus.transfer(memberId(to, 0)));
  if (!world.until(() => world.leader?.number === to, 5000)) throw new Error('no transfer');
}

type MemberChange = Parameters<Node['parts']['group']['change']>[0];

/** A learner that never comes is added and removed. */
function changeMembers(world: World): void {
  const node = memberId(4, 77);
  changeOnce(world, { changes: [{ type: 'add-learner', node }], transition: 'auto', added: [] });
  changeOnce(world, { changes: [{ type: 'remove', node }], transition: 'auto', added: [] });
}

function changeOnce(world: World, change: MemberChange): void {
  const { leader } = world;
  let done: boolean | null = null;
  leader?.enter(() => {
    const index = leader.status?.configurationIndex ?? 0;
    leader.node?.parts.group.change(change, index, false, (result) => {
      done = result.accepted;
    });
  });
  if (!world.until(() => done !== null, 5000) || done === false) throw new Error('no change');
}
