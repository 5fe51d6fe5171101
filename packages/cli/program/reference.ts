/** The reference pages: a table of each group, of the records of its commands. */
import type { Command, Flag } from '../command/command.js';
import { GLOBAL_FLAGS, GROUPS } from './groups.js';

export function reference(commands: readonly Command[]): string {
  const shown = commands.filter(({ help }) => !help.startsWith('hidden: '));
  const single = shown.filter(({ name }) => !name.includes(' '));
  const groups = Object.entries(GROUPS).map(([group, { help, alias }]) => {
    const own = shown.filter(({ name }) => name.startsWith(`${group} `));
    const short = alias === undefined ? '' : ` Alias: \`${alias}\`.`;
    return own.length === 0 ? '' : `### ${group}\n\n${help}${short}\n\n${table(own)}`;
  });
  const flags = GLOBAL_FLAGS.map(([spelling, help]) => `| \`${spelling}\` | ${help} |\n`);
  return [
    `### Flags of every command\n\n| Flag | Meaning |\n| --- | --- |\n${flags.join('')}`,
    `### Commands without a group\n\n${table(single)}`,
    ...groups.filter(Boolean),
  ].join('\n');
}

function table(commands: readonly Command[]): string {
  const rows = commands.map(({ name, args, help, flags = [], example }) => {
    const usage = [name, args].filter(Boolean).join(' ');
    const shown = flags.filter(([, text]) => !text.startsWith('hidden: ')).map(flagText);
    const cells = [`\`${usage}\``, help, shown.join('; ') || '-', `\`svcctl ${example}\``];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  });
  const head = '| Command | What it does | Flags | Example |\n| --- | --- | --- | --- |\n';
  return head + rows.join('');
}

function flagText([spelling, help, fallback]: Flag): string {
  const given = fallback === undefined || fallback === false ? '' : ` (${String(fallback)})`;
  return `\`${spelling}\` ${help}${given}`;
}
