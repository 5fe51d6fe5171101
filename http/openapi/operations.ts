/**
 * What is said of each route. A test holds it against the routes: none is missing, none is left.
 */

import { GROUP_OPERATIONS } from './groups.js';
import { IDENTITY_OPERATIONS } from './identity.js';
import { MESSAGE_OPERATIONS } from './messages.js';
import { NODE_OPERATIONS } from './node.js';
import { answer, type Operation, type Operations } from './operation.js';
import { QUEUE_OPERATIONS } from './queues.js';
import { RECORD_OPERATIONS } from './records.js';
import { RESOURCE_OPERATIONS } from './resources.js';
import { anything, record } from './schema.js';
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
  ...NODE_OPERATIONS,
  ...IDENTITY_OPERATIONS,
  'GET /openapi.json': openApi,
};
