/** The scope of a request (message-plane 1.2). */
import { canonicalUuid, DEFAULT_TENANT } from '@svc/wire';

/** The tenant that a header's value names, or null when it is malformed. */
export function tenantOfHeader(value: string): string | null {
  return value === '' ? DEFAULT_TENANT : canonicalUuid(value);
}

export const INVALID_TENANT_TEXT = '{"error":"invalid x-svc-tenant header (must be a UUID)"}';
