/**
 * Answers with the values in them as the texts that are stored: `JSON.parse` would round numbers
 * above 2^53 and lose the spelling of the others.
 *
 * `JSON.parse` checks the text first, so the pass over its tokens may trust it: a string before a
 * colon is the name of a member, and the brackets of a value match. The members of a value are not
 * looked at, so one that is named like a member of the answer does not mislead.
 */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Parses `text`, except that the members called `name` are the texts of their values. */
export function parseButTexts(text: string, name: string): unknown {
  JSON.parse(text);
  const quoted = JSON.stringify(name);
  const tokens = new RegExp(TOKEN);
  const parts: string[] = [];
  let keptTo = 0;
  let last = '';
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    const isValue = found[0] === ':' && last === quoted;
    last = found[0];
    if (!isValue) continue;
    const [from, to] = passValue(tokens, text);
    parts.push(text.slice(keptTo, from), JSON.stringify(text.slice(from, to)));
    keptTo = to;
  }
  parts.push(text.slice(keptTo));
  return JSON.parse(parts.join(''));
}

function passValue(tokens: RegExp, text: string): readonly [from: number, to: number] {
  let from = -1;
  for (let depth = 0; ; ) {
    const [token] = tokens.exec(text) as RegExpExecArray;
    if (from === -1) from = tokens.lastIndex - token.length;
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    if (depth === 0) return [from, tokens.lastIndex];
  }
}
