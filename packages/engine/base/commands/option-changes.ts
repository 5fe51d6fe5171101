/**
 * The options that a configure call names, each with its value: by hand, for it is a map. Names
 * that are no option mean nothing to the planner and are not sent.
 *
 *     changes := count, each: name | value
 *     value   := 0 null | 1 text | 2 number u32 | 3 false | 4 true
 */
import { NAME_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from '../bytes.js';
import { field, text } from '../fields/field.js';
import type { GuardedReader } from '../guarded-reader.js';
import { CONFIGURE_DEFAULTS } from '../queue-options.js';
import type { OptionChanges } from './commands.js';

type Value = OptionChanges[string];

const VALUE_NULL = 0;
const VALUE_TEXT = 1;
const VALUE_NUMBER = 2;
const VALUE_FALSE = 3;
const VALUE_TRUE = 4;

export const optionChanges = field<OptionChanges>(1, write, read);

function write(w: ByteWriter, changes: OptionChanges): void {
  const named = Object.keys(CONFIGURE_DEFAULTS).filter((name) => changes[name] !== undefined);
  w.varint(named.length);
  for (const name of named) {
    w.text(name);
    writeValue(w, changes[name] ?? null);
  }
}

function writeValue(w: ByteWriter, value: Value): void {
  if (value === null) w.u8(VALUE_NULL);
  else if (typeof value === 'boolean') w.u8(value ? VALUE_TRUE : VALUE_FALSE);
  else if (typeof value === 'number') {
    w.u8(VALUE_NUMBER);
    w.u32(value);
  } else {
    w.u8(VALUE_TEXT);
    w.text(value);
  }
}

function read(r: GuardedReader): OptionChanges {
  const defaults: Readonly<Record<string, unknown>> = { ...CONFIGURE_DEFAULTS };
  const changes: Record<string, Value> = {};
  for (let left = r.count(2, Object.keys(defaults).length); left > 0 && !r.refused; left--) {
    const name = r.text(NAME_BYTES_MAX);
    const value = readValue(r);
    if (!Object.hasOwn(defaults, name) || Object.hasOwn(changes, name)) r.refuse();
    else if (value !== null && typeof value !== typeof defaults[name]) r.refuse();
    else changes[name] = value;
  }
  return changes;
}

function readValue(r: GuardedReader): Value {
  switch (r.u8()) {
    case VALUE_NULL:
      return null;
    case VALUE_TEXT:
      return text.read(r);
    case VALUE_NUMBER:
      return r.u32() | 0;
    case VALUE_FALSE:
      return false;
    case VALUE_TRUE:
      return true;
    default:
      r.refuse();
      return null;
  }
}
