/**
 * Changes of the configuration. One at a time: a second is refused until the first is applied, and
 * a new leader refuses until it has applied everything it found in its log. The caller names the
 * configuration it looked at by its index, so that two operators cannot both act on one picture.
 */
import {
  type Configuration,
  type ConfigurationChange,
  changed,
  isJoint,
  isVoter,
  withoutOutgoing,
} from './configuration.js';
import { decodeConfiguration, encodeConfiguration } from './configuration-codec.js';
import type { Core } from './core.js';
import type { Entry } from './entry.js';
import { isNodeId, type LogIndex, NO_NODE, type NodeId } from './identifiers.js';
import { confirmReads } from './reading.js';
import type { ConfigurationProposal, ConfigurationRefusal } from './ready.js';
import {
  advanceCommit,
  afterCommit,
  broadcastAppend,
  retireWhenDone,
  sendMissing,
} from './replication.js';

const NO_BYTES = new Uint8Array(0);

/** The caller has made sure that this node leads and takes proposals. */
export function proposeChange(
  core: Core,
  change: ConfigurationChange,
  expectedIndex: LogIndex,
  force: boolean,
): ConfigurationProposal {
  if (!change.changes.every(({ node }) => isNodeId(node))) return refused('impossible_node');
  if (expectedIndex !== core.configurationIndex) return refused('membership_changed');
  const joint = isJoint(core.configuration);
  const leaving = change.changes.length === 0;
  if (inFlight(core) || joint !== leaving) {
    core.append('normal', NO_BYTES);
    broadcastAppend(core);
    return refused(inFlight(core) || joint ? 'in_flight' : 'nothing_to_leave');
  }
  const result = changed(core.configuration, change);
  if (result.voters.length === 0) return refused('last_voter');
  if (!leaving && !force) {
    const reason = dangerOf(core, result);
    if (reason !== undefined) return refused(reason);
  }
  const index = core.append('configuration', encodeConfiguration(result, change.context));
  core.pendingConfigurationIndex = index;
  broadcastAppend(core);
  return { accepted: true, index, term: core.term };
}

/**
 * Looked at once a heartbeat: makes a voter of the first learner that was added for it, has caught
 * up and lives. One at a time, and only between the changes of operators: theirs name the
 * configuration that they saw, so one that comes after this is refused and not misread.
 */
export function promoteWhenReady(core: Core): void {
  const { settings, configuration, configurationIndex } = core;
  if (!settings.autoPromote || configuration.promoting.length === 0) return;
  if (!core.leading || core.transferTarget !== NO_NODE || core.appends.failed) return;
  if (inFlight(core) || isJoint(configuration)) return;
  const node = configuration.promoting.find((id) => caughtUp(core, id));
  if (node === undefined) return;
  const changes = [{ type: 'add-voter', node }] as const;
  proposeChange(
    core,
    { changes, transition: 'auto', context: core.context },
    configurationIndex,
    false,
  );
}

function refused(reason: ConfigurationRefusal): ConfigurationProposal {
  return { accepted: false, reason };
}

/** A change may stand in the log that is not applied: what it leads to is not known. */
function inFlight(core: Core): boolean {
  return core.pendingConfigurationIndex > core.log.applied;
}

/** Why a change could stop the group, or bring it one death nearer to that. */
function dangerOf(core: Core, result: Configuration): ConfigurationRefusal | undefined {
  const { voters, learners } = core.configuration;
  for (const id of result.voters) {
    if (voters.includes(id)) continue;
    if (!learners.includes(id)) return 'not_a_learner';
    if (!caughtUp(core, id)) return 'learner_behind';
  }
  return majorityLives(core, voters) && majorityLives(core, result.voters)
    ? undefined
    : 'no_quorum';
}

function caughtUp(core: Core, id: NodeId): boolean {
  const match = core.peers.get(id)?.match ?? 0;
  return core.live(id) && match + core.settings.promoteMaxLag >= core.log.last;
}

function majorityLives(core: Core, voters: readonly NodeId[]): boolean {
  return voters.filter((id) => core.live(id)).length * 2 > voters.length;
}

/** The host has applied up to `log.applied`: configurations up to there count from now on. */
export function takeEffect(core: Core): void {
  for (;;) {
    const entry = core.configurationsInApply[0];
    if (entry === undefined || entry.index > core.log.applied) break;
    core.configurationsInApply.shift();
    switchTo(core, entry);
  }
  leaveJointWhenReady(core);
}

function switchTo(core: Core, entry: Entry): void {
  core.configuration = decodeConfiguration(entry.data).configuration;
  core.configurationIndex = entry.index;
  core.trackMembers();
  if (core.role !== 'leader') return;
  if (core.transferTarget !== NO_NODE && !isVoter(core.configuration, core.transferTarget)) {
    core.transferTarget = NO_NODE;
  }
  // A smaller quorum may already hold what a larger one lacked, and have answered a read's round.
  // A leader that is left alone hears no more answers, so nothing else asks again.
  if (advanceCommit(core)) afterCommit(core);
  else sendMissing(core);
  confirmReads(core);
  retireWhenDone(core);
}

function leaveJointWhenReady(core: Core): void {
  if (core.role !== 'leader' || core.appends.failed) return;
  if (!isJoint(core.configuration) || !core.configuration.autoLeave) return;
  if (core.log.applied < core.pendingConfigurationIndex) return;
  const left = encodeConfiguration(withoutOutgoing(core.configuration), core.context);
  core.pendingConfigurationIndex = core.append('configuration', left);
  broadcastAppend(core);
}
