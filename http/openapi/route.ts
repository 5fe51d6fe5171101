/** GET /openapi.json: what the API is, for tools. The same on every node of a version. */
import { anything, record } from '@svc/schema';
import { answer, type Endpoint, endpoint } from '../routing/endpoint.js';
import { openApiDocument } from './document.js';

/** Describes `endpoints` and itself; made when it is first asked for, and shared by all answers. */
export function openApiEndpoint(endpoints: readonly Endpoint[]): Endpoint {
  let bytes: Buffer | null = null;
  const own = endpoint({
    at: 'GET /openapi.json',
    level: 'read-only',
    tag: 'node',
    summary: 'This document.',
    answers: { 200: answer('OpenAPI 3.1.', record(anything)) },
    largeAnswer: 'read',
    scoped: false,
    handle: (_, { exchange }) => {
      bytes ??= Buffer.from(JSON.stringify(openApiDocument([...endpoints, own])));
      exchange.jsonBytes('200 OK', bytes);
    },
  });
  return own;
}
