/**
 * The types of requests and answers of the routes that people use, for the dashboard. They derive
 * from the shapes in `routes/`, and nothing of this module is there when a program runs.
 */
import type { Operation } from '@svc/http';
import type * as people from './routes/people-shapes.js';
import type * as sessions from './routes/session-shapes.js';

type All = (typeof people)[keyof typeof people] | (typeof sessions)[keyof typeof sessions];

/** By method and path. */
export type GatewayApi = { readonly [Shape in All as Shape['at']]: Operation<Shape> };
