/** Shapes, names, limits and formats of the public API. Pure: imports nothing. */
export * from './answers.js';
export * from './group-answers.js';
export * from './identity-answers.js';
export * from './limits.js';
export {
  messageId,
  messageIdPrefix,
  messageIdSuffix,
  type ParsedMessageId,
  parseMessageId,
} from './message-id.js';
export * from './names.js';
export * from './node-answers.js';
export * from './record-answers.js';
export * from './resource-answers.js';
export { isWellFormed, utf8Length } from './text.js';
export { formatStampMs, formatStampUs, parseIsoUs } from './timestamp.js';
export { canonicalUuid, formatUuid, isUuid, parseUuid, uuidV7 } from './uuid.js';
