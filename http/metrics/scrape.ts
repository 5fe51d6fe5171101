/**
 * One scrape: the text of all families, made in slices, so that a node with ten thousand queues
 * goes on with its messages meanwhile.
 *
 * What must hold:
 * - No slice holds the loop for much longer than SLICE_MS.
 * - The route is public, and its text may be megabytes: one is made at a time, and whoever asks
 *   meanwhile gets the same. It describes the moment, not the moment of each asker.
 * - A scrape that fails costs those who asked for it an answer, and nobody else.
 */
import { Exposition } from './exposition.js';
import { FAMILIES } from './families.js';
import type { Scraped } from './family.js';
import {
  type RuntimeFamilies,
  type RuntimeFigures,
  runtimeFamilies,
  writeRuntime,
} from './runtime-families.js';

const SLICE_MS = 4;
/** Askers of one scrape: more than a cluster has collectors. */
export const SCRAPE_ASKERS_MAX = 1024;

/** null: the scrape failed. */
export type ScrapeDone = (text: Buffer | null) => void;

export class Scraper {
  #askers: ScrapeDone[] = [];
  readonly #onError: (error: unknown) => void;
  readonly #runtime: RuntimeFamilies;

  constructor(onError: (error: unknown) => void, runtime = runtimeFamilies()) {
    this.#onError = onError;
    this.#runtime = runtime;
  }

  /** `done` runs once, after this call. False: too many ask, and it does not run. */
  scrape(read: () => Scraped, done: ScrapeDone): boolean {
    if (this.#askers.length >= SCRAPE_ASKERS_MAX) return false;
    this.#askers.push(done);
    if (this.#askers.length === 1) void this.#begin(read);
    return true;
  }

  async #begin(read: () => Scraped): Promise<void> {
    const runtime = await this.#runtime.collect();
    this.#attempt(() => this.#slice(renderAll(read(), runtime)));
  }

  #slice(rendering: Generator<void, Buffer>): void {
    const untilMs = performance.now() + SLICE_MS;
    do {
      const step = rendering.next();
      if (step.done === true) {
        this.#end(step.value);
        return;
      }
    } while (performance.now() < untilMs);
    setImmediate(() => this.#attempt(() => this.#slice(rendering)));
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#onError(error);
      this.#end(null);
    }
  }

  #end(text: Buffer | null): void {
    const askers = this.#askers;
    this.#askers = [];
    for (const done of askers) done(text);
  }
}

function* renderAll(scraped: Scraped, runtime: RuntimeFigures): Generator<void, Buffer> {
  const out = new Exposition();
  for (const family of FAMILIES) {
    if (family.isShown?.(scraped.figures) === false) continue;
    out.family(family.name, family.type, family.help);
    yield* family.samples(out, scraped);
    yield;
  }
  writeRuntime(out, runtime);
  return out.finish();
}
