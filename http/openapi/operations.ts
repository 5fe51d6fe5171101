/**
 * What is said of each route. A test holds it against the routes: none is missing, none is left.
 */
import { anything, record } from '@svc/schema';
import { ANALYTICS_OPERATIONS } from './analytics.js';
import { EPHEMERAL_OPERATIONS } from './ephemeral.js';
import { GROUP_OPERATIONS } from './groups.js';
import { IDENTITY_OPERATIONS } from './identity.js';
import { KV_OPERATIONS } from './kv.js';
import { MESSAGE_OPERATIONS } from './messages.js';
import { NODE_OPERATIONS } from './node.js';
import { answer, type Operation, type Operations } from './operation.js';
import { PROCESS_OPERATIONS } from './processes.js';
import { QUEUE_OPERATIONS } from './queues.js';
import { RECORD_OPERATIONS } from './records.js';
import { RESOURCE_OPERATIONS } from './resources.js';
import { STREAM_OPERATIONS } from './streams.js';
import { SURFACE_OPERATIONS } from './surfaces.js';
import { SYSTEM_OPERATIONS } from './system.js';
import { TIMER_OPERATIONS } from './timers.js';
import { TRANSACTION_OPERATIONS } from './transactions.js';

const openApi: Operation = {
  tag: 'node',
  summary: 'This document.',
  answers: { 200: answer('OpenAPI 3.1.', record(anything)) },
};

export const OPERATIONS: Operations = {
  ...MESSAGE_OPERATIONS,
  ...TRANSACTION_OPERATIONS,
  ...QUEUE_OPERATIONS,
  ...RESOURCE_OPERATIONS,
  ...GROUP_OPERATIONS,
  ...RECORD_OPERATIONS,
  ...EPHEMERAL_OPERATIONS,
  ...KV_OPERATIONS,
  ...STREAM_OPERATIONS,
  ...SURFACE_OPERATIONS,
  ...TIMER_OPERATIONS,
  ...NODE_OPERATIONS,
  ...ANALYTICS_OPERATIONS,
  ...PROCESS_OPERATIONS,
  ...SYSTEM_OPERATIONS,
  ...IDENTITY_OPERATIONS,
  'GET /openapi.json': openApi,
};
