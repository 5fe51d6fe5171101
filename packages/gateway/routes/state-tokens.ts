/**
 * The token that goes with a user to a provider and back (gateway 7): signed, good for five
 * minutes, with a nonce and where the login leads to. The nonce is in a cookie too, so a callback
 * counts in the browser that began it alone: nobody can log others in as himself.
 *
 * The verifier of the code exchange (PKCE) follows from nonce and key, and is kept nowhere.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';
import type { ProviderName } from './login-provider.js';

export const STATE_LIFE_S = 300;
const NONCE_BYTES = 24;
const TOKEN_LENGTH_MAX = 8_192;

export interface LoginState {
  readonly provider: ProviderName;
  /** 48 hexadecimal digits. */
  readonly nonce: string;
  readonly next: string;
}

export class StateTokens {
  readonly #key: string | Uint8Array;
  readonly #clock: Pick<Clock, 'wallUs'>;
  readonly #random: Random;

  /** `secret`: the same on every node; null: callbacks come back to this process or fail. */
  constructor(secret: string | null, clock: Pick<Clock, 'wallUs'>, random: Random) {
    this.#key = secret ?? random.bytes(32);
    this.#clock = clock;
    this.#random = random;
  }

  begin(provider: ProviderName, next: string): LoginState {
    const nonce = Buffer.from(this.#random.bytes(NONCE_BYTES)).toString('hex');
    return { provider, nonce, next };
  }

  token({ provider, nonce, next }: LoginState): string {
    const expiresS = this.#nowS() + STATE_LIFE_S;
    const payload = JSON.stringify([provider, nonce, expiresS, next]);
    const text = Buffer.from(payload).toString('base64url');
    return `${text}.${this.#mac(`state ${text}`)}`;
  }

  /** null: it is none of ours, or too old. */
  read(token: string): LoginState | null {
    const [text = '', mac = '', ...more] = token.split('.');
    if (token.length > TOKEN_LENGTH_MAX || more.length > 0) return null;
    if (!isSame(mac, this.#mac(`state ${text}`))) return null;
    const [provider, nonce, expiresS, next] = JSON.parse(
      Buffer.from(text, 'base64url').toString('utf8'),
    ) as [ProviderName, string, number, string];
    return expiresS > this.#nowS() ? { provider, nonce, next } : null;
  }

  verifier(nonce: string): string {
    return this.#mac(`verifier ${nonce}`);
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }

  #nowS(): number {
    return Math.floor(this.#clock.wallUs() / 1_000_000);
  }
}

export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
