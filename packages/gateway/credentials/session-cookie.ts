/** `Set-Cookie` of sessions (specification, Gateway credentials 6; gateway 7). */

export interface CookieOptions {
  readonly name: string;
  /** Absent: the host that set it, alone. */
  readonly domain?: string;
  /** The request came by TLS. */
  readonly isSecure: boolean;
}

/** A cookie with a domain is always secure. */
export function sessionCookie(
  { name, domain, isSecure }: CookieOptions,
  token: string,
  maxAgeS: number,
): string {
  const where = domain === undefined ? '' : `; Domain=${domain}`;
  const how = isSecure || domain !== undefined ? '; Secure' : '';
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeS}${where}${how}`;
}

export function clearedCookie(options: CookieOptions): string {
  return sessionCookie(options, '', 0);
}

/** The cookie of a token that a host adopts which only verifies. */
export function adoptedCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-svc_session_cell' : 'svc_session_cell';
}
