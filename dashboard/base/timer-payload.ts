/** The payload of a timer: base64 of the bytes that its message will have. */
import { RawJson } from './raw-json.js';

export interface TimerPayload {
  readonly bytes: number;
  /** JSON as it is stored; null: the bytes are none. */
  readonly json: RawJson | null;
  /** The bytes as text, or what they are where they are none. */
  readonly text: string;
}

export function timerPayload(base64: string): TimerPayload {
  let bytes = new Uint8Array(0);
  let text: string;
  try {
    bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { bytes: bytes.length, json: null, text: base64 };
  }
  return { bytes: bytes.length, json: isJson(text) ? new RawJson(text) : null, text };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
