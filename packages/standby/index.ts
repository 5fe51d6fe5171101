/**
 * The pure core of a standby cluster, on both sides (standby-link). Nothing in here knows a clock,
 * a socket or a file.
 */
export {
  FOLLOWER_STATES,
  Follower,
  type FollowerOptions,
  type FollowerPort,
  type FollowerState,
  type FollowerView,
  type MirrorResult,
  type SourcePlace,
  type StandbyLeadership,
} from './follower.js';
export { unreadText } from './follower-texts.js';
export { type HoldResult, type HoldRow, Holds, type HoldTime, READERS_MAX } from './holds.js';
export {
  decideRead,
  encodeReadRequest,
  type LogView,
  parseReadRequest,
  READ_BYTES_MAX,
  READ_PATH,
  READ_REQUEST_BYTES_MAX,
  READ_WAIT_MS_MAX,
  type ReadDecision,
  type ReadRequest,
  readerName,
  TOKEN_HEADER,
} from './read.js';
export {
  type AnswerEnd,
  type AnswerHandlers,
  type AnswerHead,
  type AnswerLimits,
  AnswerReader,
  encodeAnswerEnd,
  encodeAnswerHead,
  encodeEntryHead,
  PIECE_BYTES,
  type SourceEntry,
} from './read-answer.js';
export {
  encodeSeedHead,
  encodeSeedRequest,
  parseSeedHead,
  parseSeedRequest,
  type RowsName,
  SEED_HEAD_BYTES_MAX,
  SEED_PATH,
  SEED_REQUEST_BYTES_MAX,
  type SeedHead,
  type SeedRequest,
} from './seed.js';
