/**
 * Changes of the configuration. One at a time: a second is refused until the first is applied, and
 * a new leader refuses until it has applied everything it found in its log. The caller names the
 * configuration it looked at by its index, so that two operators cannot both act on one picture.
 */
import {
  type ConfigurationChange,
  changed,
  isJoint,
  isVoter,
  withoutOutgoing,
} from './configuration.js';
import { decodeConfiguration, encodeConfiguration } from './configuration-codec.js';
import type { Core } from './core.js';
import type { Entry } from './entry.js';
import { type LogIndex, NO_NODE } from './identifiers.js';
import type { ConfigurationProposal } from './ready.js';
import { advanceCommit, broadcastAppend, retireWhenDone, sendMissing } from './replication.js';

const NO_BYTES = new Uint8Array(0);

/** The caller has made sure that this node leads and takes proposals. */
export function proposeChange(
  core: Core,
  change: ConfigurationChange,
  expectedIndex: LogIndex,
): ConfigurationProposal {
  if (expectedIndex !== core.configurationIndex) {
    return { accepted: false, reason: 'configuration_conflict' };
  }
  const pending = core.pendingConfigurationIndex > core.log.applied;
  const leaving = change.changes.length === 0;
  if (pending || isJoint(core.configuration) !== leaving) {
    core.append('normal', NO_BYTES);
    broadcastAppend(core);
    return { accepted: false, reason: 'configuration_pending' };
  }
  const result = changed(core.configuration, change);
  if (result === undefined) return { accepted: false, reason: 'configuration_invalid' };
  const index = core.append('configuration', encodeConfiguration(result, change.context));
  core.pendingConfigurationIndex = index;
  broadcastAppend(core);
  return { accepted: true, index, term: core.term };
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
  // A smaller quorum may already hold what a larger one lacked.
  if (advanceCommit(core)) broadcastAppend(core);
  else sendMissing(core);
  retireWhenDone(core);
}

function leaveJointWhenReady(core: Core): void {
  if (core.role !== 'leader' || core.appends.failed) return;
  if (!isJoint(core.configuration) || !core.configuration.autoLeave) return;
  if (core.log.applied < core.pendingConfigurationIndex) return;
  const left = encodeConfiguration(withoutOutgoing(core.configuration), NO_BYTES);
  core.pendingConfigurationIndex = core.append('configuration', left);
  broadcastAppend(core);
}
