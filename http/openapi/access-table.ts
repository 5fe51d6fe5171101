/** The table of all endpoints in `docs/api.md`: what each is for, and who may call it. */
import type { Endpoint } from '../routing/endpoint.js';
import { TAGS } from '../routing/endpoint.js';

/** By tag, in the order of the tags; `docs/api.md` has it under "All endpoints". */
export function accessTable(endpoints: readonly Endpoint[]): string {
  const rows = Object.keys(TAGS).flatMap((tag) =>
    endpoints.filter((one) => one.tag === tag).map(rowOf),
  );
  return ['| Endpoint | Level | What it does |', '| --- | --- | --- |', ...rows].join('\n');
}

function rowOf({ method, path, level, summary }: Endpoint): string {
  const text = summary.endsWith('.') ? summary.slice(0, -1) : summary;
  return `| \`${method} ${path}\` | ${level} | ${text.replaceAll('|', '\\|')} |`;
}
