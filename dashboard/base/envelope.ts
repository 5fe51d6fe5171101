/**
 * Payloads that are stored encrypted. A node that has another key than the one they were stored
 * with, or none, gives the envelope as the payload (message-plane 11.5), with status 200.
 */
const SIXTEEN_BYTES = '[A-Za-z0-9+/]{22}==';
const ENVELOPE = new RegExp(
  `^\\{"encrypted":"[A-Za-z0-9+/]*={0,2}","iv":"${SIXTEEN_BYTES}","authTag":"${SIXTEEN_BYTES}"\\}$`,
);

/** `text`: the payload as the node gave it. */
export function isEnvelope(text: string): boolean {
  return ENVELOPE.test(text);
}
