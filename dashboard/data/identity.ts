/** The reader of the page, and what this reader may do. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type Capabilities, capabilitiesOf } from '../base/capabilities.js';
import type { Success } from './request.js';

export type Identity = Success<'GET /auth/me'>;

export const IdentityContext = createContext<Identity | null>(null);

const NOBODY = { role: 'none', is_operator: false };

export function useIdentity(): Identity | null {
  return useContext(IdentityContext);
}

export function useCapabilities(): Capabilities {
  return capabilitiesOf(useContext(IdentityContext) ?? NOBODY);
}
