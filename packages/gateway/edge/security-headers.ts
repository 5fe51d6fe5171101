/** Headers that every answer of the gateway's port carries (gateway 3). */
import type { HeaderList } from './origins.js';

/** `auto`: on connections that TLS protects, here or at a trusted proxy. */
export const HSTS_MODES = ['auto', 'on', 'off'] as const;
export type HstsMode = (typeof HSTS_MODES)[number];

const ALWAYS: HeaderList = [
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
  ['Content-Security-Policy', "frame-ancestors 'none'"],
  ['Referrer-Policy', 'same-origin'],
];

export class SecurityHeaders {
  readonly #plain: HeaderList;
  readonly #secure: HeaderList;

  constructor(mode: HstsMode, maxAgeS: number) {
    const hsts: HeaderList = [...ALWAYS, ['Strict-Transport-Security', `max-age=${maxAgeS}`]];
    this.#plain = mode === 'on' ? hsts : ALWAYS;
    this.#secure = mode === 'off' ? ALWAYS : hsts;
  }

  for(isSecure: boolean): HeaderList {
    return isSecure ? this.#secure : this.#plain;
  }
}

/**
 * Whether TLS protects the client's connection. `forwardedProto` is `X-Forwarded-Proto`, of which
 * the first entry is the client's side, and which counts from a trusted proxy alone.
 */
export function isSecure(hasTls: boolean, isPeerTrusted: boolean, forwardedProto: string): boolean {
  if (hasTls) return true;
  if (!isPeerTrusted) return false;
  return forwardedProto.split(',', 1)[0]?.trim().toLowerCase() === 'https';
}
