/** The algorithms that tokens may be signed with, and what `JWT_ALGORITHM` makes of them. */

export const TOKEN_ALGORITHMS = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'EdDSA',
] as const;

export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** `auto` stands for all of them, and `RS256` for all of RSA; any other for itself. */
export type AlgorithmSetting = TokenAlgorithm | 'auto';

/** Which kind of key an algorithm takes. A key never serves an algorithm of another family. */
export type KeyFamily = 'secret' | 'rsa' | 'ed25519';

export function familyOf(algorithm: TokenAlgorithm): KeyFamily {
  if (algorithm === 'EdDSA') return 'ed25519';
  return algorithm.startsWith('RS') ? 'rsa' : 'secret';
}

export function algorithmsOf(setting: AlgorithmSetting): readonly TokenAlgorithm[] {
  if (setting === 'auto') return TOKEN_ALGORITHMS;
  if (setting !== 'RS256') return [setting];
  return TOKEN_ALGORITHMS.filter((algorithm) => familyOf(algorithm) === 'rsa');
}
