// Goal: every error body of the gateway, literally (specification, Errors; gateway 11). Method: the
// table, a second time.
import { expect, test } from 'vitest';
import { REFUSALS, type Refusal, refusalBody } from './refusal.js';

const BODIES: { readonly [Name in keyof typeof REFUSALS]: readonly [number, string] } = {
  noCredential: [401, '{"error":"missing bearer credential","code":"unauthorized"}'],
  badCredential: [401, '{"error":"invalid credential","code":"unauthorized"}'],
  wrongCluster: [403, '{"error":"key/cluster mismatch","code":"forbidden"}'],
  actingKey: [403, '{"error":"an API key cannot act on a named cluster","code":"forbidden"}'],
  forbidden: [403, '{"error":"operation not permitted for this credential","code":"forbidden"}'],
  adminRequired: [403, '{"error":"admin role required","code":"forbidden"}'],
  suspended: [403, '{"error":"cluster suspended","code":"cluster_suspended"}'],
  storageBlocked: [403, '{"error":"storage quota exceeded","code":"storage_quota_exceeded"}'],
  monthlyBlocked: [403, '{"error":"monthly message quota exceeded","code":"quota_exceeded"}'],
  pushBlocked: [403, '{"error":"pushes are blocked for this cluster","code":"push_blocked"}'],
  featureGated: [403, '{"error":"not in your plan","code":"feature_gated"}'],
  routeBlocked: [404, '{"error":"not available","code":"route_blocked"}'],
  bodyTooLarge: [413, '{"error":"request body exceeds cap","code":"payload_too_large"}'],
  clusterUnknown: [421, '{"error":"unknown cluster","code":"cluster_unknown"}'],
  badGateway: [502, '{"error":"the broker did not answer","code":"bad_gateway"}'],
  answerTooLarge: [502, '{"error":"the answer is too large to be metered","code":"bad_gateway"}'],
  upstreamTimeout: [504, '{"error":"the broker did not answer in time","code":"upstream_timeout"}'],
  notConfigured: [503, '{"error":"logins are not configured","code":"not_configured"}'],
  unavailable: [503, '{"error":"the store does not answer","code":"unavailable"}'],
  overloaded: [503, '{"error":"too many requests wait here","code":"unavailable"}'],
};

test.each(Object.entries(REFUSALS))('%s', (name, refusal: Refusal) => {
  const [status, body] = BODIES[name as keyof typeof REFUSALS];
  expect([refusal.status, refusalBody(refusal)]).toEqual([status, body]);
});
