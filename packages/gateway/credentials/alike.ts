/**
 * Equal values as one. Rows are read one by one, each with values of its own, and thousands of keys
 * and clusters say the same: the id of a cluster, the scopes, the limits of a plan.
 */

/** Then all are forgotten; who has one keeps it. */
const VALUES_MAX = 65_536;

export class Alike {
  readonly #texts = new Map<string, string>();
  readonly #objects = new Map<string, object>();

  text(text: string): string {
    return one(this.#texts, text, text);
  }

  /** `value`: of members that JSON has. */
  object<Value extends object>(value: Value): Value {
    return one(this.#objects as Map<string, Value>, JSON.stringify(value), value);
  }
}

function one<Value>(values: Map<string, Value>, name: string, value: Value): Value {
  const known = values.get(name);
  if (known !== undefined) return known;
  if (values.size >= VALUES_MAX) values.clear();
  values.set(name, value);
  return value;
}
