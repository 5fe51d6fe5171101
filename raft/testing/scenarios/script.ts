/**
 * The text of a scenario: comments (`#`), commands (at the margin), and below each command what it
 * is expected to print, indented by four spaces. Blank lines separate.
 */
import { ScriptError } from './words.js';

export interface Step {
  /** From 1: the line of the command; its expected output begins on the next. */
  readonly line: number;
  readonly command: string;
  readonly expected: readonly string[];
}

const MARGIN = '    ';

export function stepsOf(text: string): readonly Step[] {
  const steps: { line: number; command: string; expected: string[] }[] = [];
  let open = false;
  text.split('\n').forEach((line, place) => {
    if (line.startsWith(MARGIN)) {
      const step = steps.at(-1);
      if (!open || step === undefined) {
        throw new ScriptError(`line ${place + 1}: expected output without a command above it`);
      }
      step.expected.push(line.slice(MARGIN.length));
      return;
    }
    open = isCommand(line);
    if (open) steps.push({ line: place + 1, command: line.trim(), expected: [] });
  });
  return steps;
}

/** The same script with what its commands printed now; comments and blank lines stay. */
export function rewritten(text: string, outputs: readonly (readonly string[])[]): string {
  let command = 0;
  return text
    .split('\n')
    .filter((line) => !line.startsWith(MARGIN))
    .flatMap((line) => {
      if (!isCommand(line)) return [line];
      const output = outputs[command++] ?? [];
      return [line, ...output.map((printed) => MARGIN + printed)];
    })
    .join('\n');
}

/** The comment that opens a script; empty when it opens with something else. */
export function openingComment(text: string): string {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('#'));
  return lines.slice(0, end).join('\n');
}

function isCommand(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('#');
}
