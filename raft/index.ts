/** Consensus as a pure function of messages and ticks; see README.md for the walk. */
export { RaftBug } from './assert.js';
export {
  type Configuration,
  type ConfigurationChange,
  configuration,
  isJoint,
  isVoter,
  members,
  type NodeChange,
} from './configuration.js';
export {
  type ConfigurationRecord,
  decodeConfiguration,
  encodeConfiguration,
} from './configuration-codec.js';
export { type Crc32, crc32 } from './crc32.js';
export { ENTRY_OVERHEAD_BYTES, type Entry, type EntryType, entryBytes } from './entry.js';
export {
  type LogIndex,
  logIndex,
  NO_NODE,
  type NodeId,
  nodeId,
  type Term,
  term,
} from './identifiers.js';
export {
  type DropReason,
  type IgnoredReason,
  REFUSED_REASONS,
  type RefusedReason,
} from './intake.js';
export {
  DEFAULT_FRAME_LIMITS,
  decodeMessage,
  encodeMessage,
  type MessageRefusal,
} from './message-codec.js';
export type { FrameLimits, FrameRefusal, SentMessage } from './message-fields.js';
export type {
  AppendDurable,
  AppendRejection,
  AppendRequest,
  AppendResponse,
  Heartbeat,
  HeartbeatResponse,
  Life,
  Message,
  PreVoteRequest,
  PreVoteResponse,
  ReadRequest,
  ReadResponse,
  SnapshotRequest,
  TimeoutNow,
  TransferRequest,
  VoteRequest,
  VoteResponse,
} from './messages.js';
export { DEFAULT_SETTINGS, type RaftOptions, type RaftSettings } from './options.js';
export type { ProgressState } from './progress.js';
export { Raft } from './raft.js';
export type {
  ConfigurationForce,
  ConfigurationProposal,
  ConfigurationRefusal,
  Forgotten,
  HardState,
  PeerStatus,
  Proposal,
  ProposalRefusal,
  ReadRefusal,
  ReadState,
  ReadTicket,
  Ready,
  Role,
  SoftState,
  Status,
  Transfer,
  TransferRefusal,
} from './ready.js';
export type { RaftStorage, Snapshot } from './storage.js';
