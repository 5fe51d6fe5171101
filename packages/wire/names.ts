/**
 * Names that appear on the wire and are shared by both of its ends: headers, and what stands in for
 * a name that a request leaves out (message-plane 1.1, 1.2).
 */

/** Read only where the tenancy option is on; a UUID. */
export const TENANT_HEADER = 'x-svc-tenant';
export const DEFAULT_TENANT = '00000000-0000-0000-0000-000000000001';
/** The broker keeps its own records under this tenant; no client can act on it. */
export const RESERVED_TENANT = '00000000-0000-0000-0000-00000000fffe';

/** The consumer group of a pop or an ack that names none. Its cursor is real state. */
export const QUEUE_MODE_GROUP = '__QUEUE_MODE__';
/** The group of dead letters that are timers which could not fire (state-surfaces 3.5). */
export const TIMER_GROUP = '__timer__';
export const DEFAULT_PARTITION = 'Default';

/** Answers a duplicate whose original cannot be read any more (message-plane 2). */
export const ZERO_UUID = '00000000-0000-0000-0000-000000000000';

/** The release that this tree implements, as `/health` and the raft routes show it. */
export const VERSION = '2.1.0';
export const DEFAULT_PORT = 6632;
