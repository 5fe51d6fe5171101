/** The end of a run as tables and a sentence. */
import type { ChaosReport } from './run-record.js';

type Row = readonly (string | number)[];

export function renderReport(report: ChaosReport): string {
  const faults = [...report.faults]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { count, unavailableMsMax, recoveryMsMax }]): Row => {
      return [name, count, Math.round(unavailableMsMax), Math.round(recoveryMsMax)];
    });
  const count = faults.reduce((sum, [, times]) => sum + Number(times), 0);
  const { violations, verdicts, seconds, interrupted, seed } = report;
  const judged = `${verdicts.length} ${verdicts.length === 1 ? 'round' : 'rounds'} judged`;
  const early = interrupted ? ', interrupted' : '';
  const end =
    violations.length > 0
      ? `The promise was broken:\n${violations.join('\n')}`
      : `${judged}, nothing lost, repeated, reordered or delivered after its ack.`;
  return [
    table(['fault', 'times', 'no push for at most, ms', 'well again after at most, ms'], faults),
    table(['request', 'outcome', 'count'], report.requests.rows()),
    verdicts.join('\n'),
    `seed ${seed}, ${seconds.toFixed(0)} s, ${count} faults${early}. ${end}`,
  ].join('\n\n');
}

/** Numbers stand to the right. */
function table(head: readonly string[], rows: readonly Row[]): string {
  const texts = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[], i: number): string =>
    row
      .map((text, column) => {
        const width = widths[column] ?? 0;
        const isNumber = i > 0 && typeof rows[i - 1]?.[column] === 'number';
        return isNumber ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  const [first = '', ...rest] = texts.map(line);
  return [first, widths.map((width) => '-'.repeat(width)).join('  '), ...rest].join('\n');
}
