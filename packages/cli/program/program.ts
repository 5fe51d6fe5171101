/** The parser, made of the records of the commands. */
import { Argument, CommanderError, Option, Command as Parser } from 'commander';
import { EXIT, endingOf, UserError } from '../base/errors.js';
import { onOneLine } from '../base/one-line.js';
import { VERSION } from '../base/version.js';
import type { World } from '../base/world.js';
import type { Command, Flag, Outcome } from '../command/command.js';
import { Given } from '../command/given.js';
import { type GlobalFlags, Run } from '../command/run.js';
import { commands } from './commands.js';
import { GLOBAL_FLAGS, GROUPS } from './groups.js';

/** Runs what the words after `svcctl` say; gives the exit code and never rejects. */
export async function run(words: readonly string[], world: World): Promise<number> {
  const printed: string[] = [];
  const wrong: string[] = [];
  let code: number = EXIT.done;
  const act = async (command: Command, given: Given, flags: GlobalFlags) => {
    const one = new Run(given, world, flags);
    code = await outcomeShown(one, command);
  };
  const program = parserOf(world, act, {
    writeOut: (text) => printed.push(text),
    writeErr: (text) => wrong.push(text),
  });
  try {
    await program.parseAsync(withSpelledOutFlags(words), { from: 'user' });
  } catch (error) {
    code = await ended(error, world, wrong);
  }
  await world.output.write(printed.join(''));
  return code;
}

async function outcomeShown(run: Run, command: Command): Promise<number> {
  try {
    const outcome: Outcome = await command.run(run);
    return await run.show(outcome);
  } finally {
    await run.endProgress();
  }
}

async function ended(error: unknown, world: World, wrong: readonly string[]): Promise<number> {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.done;
    // Help that was not asked for: a group without a command.
    if (error.code === 'commander.help') await world.errors.write(wrong.join(''));
    else await world.errors.write(`svcctl: ${error.message.replace(/^error: /, '')}\n`);
    return EXIT.user;
  }
  if (world.signal.aborted) return EXIT.interrupted;
  const { code, text } = endingOf(error);
  if (text !== undefined) await world.errors.write(`svcctl: ${onOneLine(text)}\n`);
  return code;
}

type Act = (command: Command, given: Given, flags: GlobalFlags) => Promise<void>;

interface Written {
  readonly writeOut: (text: string) => void;
  readonly writeErr: (text: string) => void;
}

function parserOf(world: World, act: Act, written: Written): Parser {
  const program = new Parser('svcctl')
    .description('The command line of svc.')
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({ ...written, outputError: () => undefined })
    .showSuggestionAfterError(true)
    .helpCommand('help [command]', 'show the help of a command');
  for (const flag of GLOBAL_FLAGS) addFlag(program, flag);
  const groups = new Map<string, Parser>();
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    const parent = second === undefined ? program : groupOf(program, groups, first);
    addCommand(parent, second ?? first, command, program, act, world);
  }
  return program;
}

function groupOf(program: Parser, groups: Map<string, Parser>, name: string): Parser {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const { help, alias } = GROUPS[name] ?? { help: '' };
  const group = program.command(name).description(help).helpCommand(false);
  if (alias !== undefined) group.alias(alias);
  groups.set(name, group);
  return group;
}

function addCommand(
  parent: Parser,
  name: string,
  command: Command,
  program: Parser,
  act: Act,
  world: World,
): void {
  const hidden = command.help.startsWith('hidden: ');
  const added = parent.command(name, { hidden }).description(command.help).allowExcessArguments();
  const spellings = (command.args ?? '').split(' ').filter(Boolean);
  for (const spelling of spellings) added.addArgument(new Argument(spelling));
  for (const flag of command.flags ?? []) addFlag(added, flag);
  added.addHelpText('after', `\nExample:\n  svcctl ${command.example}\n`);
  added.action(async (...given: unknown[]) => {
    const args = given.slice(0, spellings.length) as (string | string[] | undefined)[];
    checkGiven(command, spellings, added.args, added.opts());
    const typed = (option: string) => added.getOptionValueSource(option) === 'cli';
    await act(
      command,
      new Given(args, added.opts(), typed, world.nowMs()),
      program.opts() as GlobalFlags,
    );
  });
}

/** Flags of names: an empty one would be no filter to the server, and `drain` would take all. */
const NAMES = ['queue', 'cg', 'group'];

/** The name of nothing comes from a variable that a script did not set. */
function checkGiven(
  { name, example }: Command,
  spellings: readonly string[],
  words: readonly string[],
  options: Readonly<Record<string, unknown>>,
): void {
  const takesAll = spellings.at(-1)?.includes('...') === true;
  if (!takesAll && words.length > spellings.length) {
    const word = JSON.stringify(words[spellings.length]);
    throw new UserError(`${name} does not take ${word}: write it like svcctl ${example}`);
  }
  const empty = spellings.find((spelling, i) => words[i] === '' && spelling !== '<value>');
  if (empty !== undefined) throw new UserError(`${empty} is empty`);
  const unnamed = NAMES.find((flag) => options[flag] === '');
  if (unnamed !== undefined) throw new UserError(`--${unnamed} is empty`);
}

/** One that is on or off also gets the form that turns it off. */
function addFlag(parser: Parser, [spelling, help, fallback]: Flag): void {
  const option = new Option(spelling, help.replace(/^hidden: /, ''));
  if (help.startsWith('hidden: ')) option.hideHelp();
  if (fallback !== undefined && fallback !== false) option.default(fallback);
  parser.addOption(option);
  const isOnOff = !option.required && !option.optional && !option.negate;
  if (isOnOff) parser.addOption(new Option(`--no-${option.name()}`).hideHelp());
}

const ON_OFF = new Set(
  [...GLOBAL_FLAGS, ...commands.flatMap(({ flags = [] }) => flags)]
    .filter(([spelling]) => !/[<[]/.test(spelling))
    .map(([spelling]) => new Option(spelling).name()),
);

/** `--dlq=false` is `--no-dlq`, `--dlq=true` is `--dlq`. */
function withSpelledOutFlags(words: readonly string[]): string[] {
  return words.map((word) => {
    const [, name = '', value] = /^--([a-z-]+)=(true|false)$/.exec(word) ?? [];
    if (value === undefined || !ON_OFF.has(name)) return word;
    return value === 'true' ? `--${name}` : `--no-${name}`;
  });
}
