/** Every route that the front serves, in the order in which documents show them. */
import * as endpoints from '../endpoints/index.js';
import { openApiEndpoint } from '../openapi/document.js';
import { type Endpoint, TAGS } from '../routing/endpoint.js';

const TAG_ORDER = Object.keys(TAGS);
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/** By tag, then by path, and what is read before what is written. */
function inOrder(one: Endpoint, other: Endpoint): number {
  const byTag = TAG_ORDER.indexOf(one.tag) - TAG_ORDER.indexOf(other.tag);
  if (byTag !== 0) return byTag;
  if (one.path !== other.path) return one.path < other.path ? -1 : 1;
  return METHODS.indexOf(one.method) - METHODS.indexOf(other.method);
}

const DESCRIBED: readonly Endpoint[] = Object.values(endpoints).sort(inOrder);

export const ROUTES: readonly Endpoint[] = [...DESCRIBED, openApiEndpoint(DESCRIBED)];
