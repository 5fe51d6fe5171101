/**
 * Finds the exact text of values inside a JSON text, which `JSON.parse` would lose: the spelling of
 * numbers, the order of members, duplicate names, white space. Written apart from the broker's own
 * reader, so that a test does not judge that reader by itself.
 */

/** The texts of every member called `name`, at any depth, in the order they stand in `json`. */
export function rawMembers(json: string, name: string): string[] {
  const found: string[] = [];
  scanValue(json, skipSpace(json, 0), name, found);
  return found;
}

/** Returns the position behind the value at `at`. The text is valid JSON. */
function scanValue(json: string, at: number, name: string, found: string[]): number {
  const first = json[at];
  if (first === '"') return stringEnd(json, at);
  if (first === '{' || first === '[') return scanContainer(json, at, name, found);
  let end = at;
  while (end < json.length && !',]} \t\r\n'.includes(json[end] ?? '')) end++;
  return end;
}

function scanContainer(json: string, start: number, name: string, found: string[]): number {
  const isObject = json[start] === '{';
  let at = skipSpace(json, start + 1);
  while (json[at] !== '}' && json[at] !== ']') {
    let member = '';
    if (isObject) {
      const end = stringEnd(json, at);
      member = JSON.parse(json.slice(at, end)) as string;
      at = skipSpace(json, skipSpace(json, end) + 1);
    }
    const place = found.length;
    const end = scanValue(json, at, name, found);
    if (isObject && member === name) found.splice(place, 0, json.slice(at, end));
    at = skipSpace(json, end);
    if (json[at] === ',') at = skipSpace(json, at + 1);
  }
  return at + 1;
}

function stringEnd(json: string, at: number): number {
  let end = at + 1;
  while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end + 1;
}

function skipSpace(json: string, at: number): number {
  let end = at;
  while (end < json.length && ' \t\r\n'.includes(json[end] ?? '')) end++;
  return end;
}
