/** One run of a command: what it was given, how it calls, and where it prints. */
import { type Answer, ClientError, settingsOf, Transport } from '@svc/client';
import { EXIT, UserError } from '../base/errors.js';
import { parseExact } from '../base/exact-json.js';
import type { World } from '../base/world.js';
import { type Config, configPath, isOpenToOthers, readConfig } from '../config/config-file.js';
import { type Target, type TargetFlags, targetOf } from '../config/target.js';
import { checkForm, isForMachines, printedText } from '../output/forms.js';
import type { Outcome, Request } from './command.js';
import type { Given } from './given.js';
import { insecureFetch } from './insecure-fetch.js';

export interface GlobalFlags extends TargetFlags {
  readonly output?: string;
  readonly color?: boolean;
  readonly quiet?: boolean;
  /** false: tables have no header row. */
  readonly headers?: boolean;
  readonly config?: string;
}

const RETRY_DELAY_MS = 200;
const TRIES = 3;

export class Run {
  readonly given: Given;
  readonly world: World;
  readonly flags: GlobalFlags;
  #transport: Promise<Transport> | undefined;
  /** As they came, for `-o raw`. */
  readonly #bodies: string[] = [];
  #hasProgress = false;

  constructor(given: Given, world: World, flags: GlobalFlags) {
    this.given = given;
    this.world = world;
    this.flags = flags;
    checkForm(flags.output);
  }

  get configPath(): string {
    return configPath(this.world, this.flags.config);
  }

  config(): Config {
    return readConfig(this.configPath);
  }

  async target(): Promise<Target> {
    const target = await targetOf(this.config(), this.world, this.flags);
    if (target.isTokenInFile && isOpenToOthers(this.configPath)) {
      const at = this.configPath;
      await this.note(`warning: others can read the token in ${at}: run chmod 600 ${at}`);
    }
    return target;
  }

  /** Rejects with a `ClientError`, or with the reason of the world's signal. */
  async call({ repeat = 'any', read = parseExact, ...request }: Request): Promise<Answer<unknown>> {
    this.#transport ??= this.#connect();
    const transport = await this.#transport;
    const { signal } = this.world;
    const reading = (text: string) => {
      if (this.flags.output === 'raw') this.#bodies.push(text);
      return read(text);
    };
    const call = transport.call({ ...request, repeat, signal, read: reading });
    return repeat === 'any' ? call.catch(throwAsKnown) : call;
  }

  async #connect(): Promise<Transport> {
    const { server, token, insecure } = await this.target();
    return new Transport(
      settingsOf({
        url: server,
        retryAttempts: TRIES,
        retryDelayMillis: RETRY_DELAY_MS,
        ...(token === undefined ? {} : { bearerToken: token }),
        ...(insecure && server.startsWith('https:') ? { fetch: insecureFetch } : {}),
      }),
    );
  }

  /** A line of the result. */
  print(text: string): Promise<void> {
    return this.world.output.write(`${text}\n`);
  }

  /** What is not the result; `-q` leaves it out. */
  async note(text: string): Promise<void> {
    if (this.flags.quiet !== true) await this.world.errors.write(`svcctl: ${text}\n`);
  }

  /** Progress of long work, on a terminal alone: each line replaces the one before. */
  async progress(text: string): Promise<void> {
    if (!this.world.errors.isTerminal || this.flags.quiet === true) return;
    this.#hasProgress = true;
    await this.world.errors.write(`\r\u001b[K${text}`);
  }

  async endProgress(): Promise<void> {
    if (this.#hasProgress) await this.world.errors.write('\r\u001b[K');
    this.#hasProgress = false;
  }

  /** Before something is destroyed: `what` completes "This will ...". */
  async confirm(what: string): Promise<void> {
    if (this.given.is('yes')) return;
    if (!this.world.input.isTerminal) {
      throw new UserError(`this will ${what}: write --yes to do it without being asked`);
    }
    const said = await this.world.ask(`This will ${what}. Go on? [y/N] `);
    if (!/^y(es)?$/i.test(said.trim())) throw new UserError('not done');
  }

  /** Prints what a command ended with; gives its exit code. */
  async show(outcome: Outcome): Promise<number> {
    await this.endProgress();
    if (outcome.kind === 'nothing') return EXIT.nothing;
    const { code = EXIT.done } = outcome;
    const { output } = this.flags;
    if (outcome.kind === 'ended') return code;
    if (outcome.kind === 'said' && !isForMachines(output)) {
      if (this.flags.quiet !== true || outcome.isResult) await this.print(outcome.text);
      return code;
    }
    await this.world.output.write(
      printedText(outcome, this.#bodies, {
        form: output,
        isTerminal: this.world.output.isTerminal,
        headers: this.flags.headers !== false,
        color: this.flags.color ?? (this.world.output.isTerminal && !this.world.env.NO_COLOR),
        nowMs: this.world.nowMs(),
      }),
    );
    return code;
  }
}

/** Whether a call that may be made twice was carried out does not matter: it is made again. */
function throwAsKnown(error: unknown): never {
  if (!(error instanceof ClientError)) throw error;
  const { message, cause, ...facts } = error;
  throw new ClientError(message, { ...facts, cause, outcomeUnknown: false });
}
