/** What a scenario printed against what it was expected to print, for the reader of a failure. */
import type { Step } from './script.js';

/** A change in one place shows in many after it; the first few tell what happened. */
const SHOWN_STEPS_MAX = 6;

/** Empty when all is as expected; else places (`file:line`) and differences. */
export function differences(
  file: string,
  steps: readonly Step[],
  outputs: readonly (readonly string[])[],
): string {
  const wrong = steps.flatMap((step, place) => {
    const printed = outputs[place] ?? [];
    return sameLines(step.expected, printed) ? [] : [{ step, printed }];
  });
  if (wrong.length === 0) return '';
  const shown = wrong.slice(0, SHOWN_STEPS_MAX).map(({ step, printed }) => {
    const lines = [`${file}:${step.line}: ${step.command}`];
    for (const { mark, text } of lineDifference(step.expected, printed)) {
      lines.push(`  ${mark} ${text}`);
    }
    return lines.join('\n');
  });
  const left = wrong.length - shown.length;
  const more = left > 0 ? [`... and ${left} more commands`] : [];
  const legend = '(- expected, + printed; SVC_REWRITE=1 writes what is printed into the script)';
  return [legend, ...shown, ...more].join('\n');
}

interface MarkedLine {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** Not the shortest difference, but one in which every line stands where it was printed. */
function lineDifference(
  expected: readonly string[],
  printed: readonly string[],
): readonly MarkedLine[] {
  const [one, ...expectedRest] = expected;
  const [other, ...printedRest] = printed;
  if (one === undefined) return printed.map((text) => ({ mark: '+', text }));
  if (other === undefined) return expected.map((text) => ({ mark: '-', text }));
  if (one === other) {
    return [{ mark: ' ', text: one }, ...lineDifference(expectedRest, printedRest)];
  }
  const laterPrinted = printed.indexOf(one);
  if (laterPrinted > 0) {
    const before = printed.slice(0, laterPrinted).map((text) => ({ mark: '+', text }) as const);
    return [...before, ...lineDifference(expected, printed.slice(laterPrinted))];
  }
  return [{ mark: '-', text: one }, ...lineDifference(expectedRest, printed)];
}

function sameLines(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, place) => line === other[place]);
}
