/**
 * What becomes of a timer's payload when it is a message or a dead letter. A timer may carry any
 * bytes, a message is JSON: what is none travels in base64 (state-surfaces 3.5), and nothing at all
 * is null (inspection 1.1), the same for who consumes it and for who looks at the dead letter.
 */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PAD = '='.charCodeAt(0);
const HEAD = bytesOf('{"_raw_b64":"');
const END = bytesOf('"}');
const NULL = bytesOf('null');
const DIGIT_OF = bytesOf(DIGITS);

export function jsonPayload(payload: Uint8Array, isJson: boolean): Uint8Array {
  if (isJson) return payload;
  if (payload.length === 0) return NULL;
  const json = new Uint8Array(jsonPayloadBytes(payload.length, false));
  json.set(HEAD);
  let at = HEAD.length;
  for (let i = 0; i < payload.length; i += 3) {
    const left = payload.length - i;
    const bits = ((payload[i] ?? 0) << 16) | ((payload[i + 1] ?? 0) << 8) | (payload[i + 2] ?? 0);
    json[at++] = DIGIT_OF[bits >>> 18] ?? PAD;
    json[at++] = DIGIT_OF[(bits >>> 12) & 63] ?? PAD;
    json[at++] = left > 1 ? (DIGIT_OF[(bits >>> 6) & 63] ?? PAD) : PAD;
    json[at++] = left > 2 ? (DIGIT_OF[bits & 63] ?? PAD) : PAD;
  }
  json.set(END, at);
  return json;
}

export function jsonPayloadBytes(payloadBytes: number, isJson: boolean): number {
  if (isJson) return payloadBytes;
  if (payloadBytes === 0) return NULL.length;
  return HEAD.length + 4 * Math.ceil(payloadBytes / 3) + END.length;
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
