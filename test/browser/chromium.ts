/**
 * A real Chromium, driven by its own protocol over a pipe: messages are JSON, each ended by a zero
 * byte. It resolves every name under `.example` to this machine, so that pages have origins.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** Why it cannot be used here; null when it can. */
export function chromiumMissing(): string | null {
  const { status, error } = spawnSync('chromium', ['--version'], { encoding: 'utf8' });
  if (status === 0) return null;
  return `skipped: chromium does not run here (${error?.message ?? `code ${status}`})`;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: { readonly entry?: { readonly text: string } };
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

type Settle = (message: Message) => void;

export class Chromium {
  readonly #child: ChildProcess;
  readonly #profile = mkdtempSync(join(tmpdir(), 'svc-chromium-'));
  readonly #waiting = new Map<number, Settle>();
  readonly #exited: Promise<void>;
  #ids = 0;
  #unread = '';
  /** What pages wrote to their console and what the browser had to say of them. */
  readonly logged: string[] = [];

  constructor() {
    this.#child = spawn(
      'chromium',
      [
        '--headless=new',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--host-resolver-rules=MAP *.example 127.0.0.1',
        '--remote-debugging-pipe',
        `--user-data-dir=${this.#profile}`,
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
    );
    const kill = () => void this.#child.kill('SIGKILL');
    process.once('exit', kill);
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', () => {
        process.off('exit', kill);
        resolve();
      });
    });
    const from = this.#child.stdio[4] as Readable;
    from.on('data', (piece: Buffer) => this.#take(piece.toString('utf8')));
  }

  async open(url: string): Promise<Page> {
    const created = await this.send('Target.createTarget', { url: 'about:blank' });
    const targetId = String(created.targetId);
    const attached = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, String(attached.sessionId));
    await page.begin(url);
    return page;
  }

  send(
    method: string,
    params: Readonly<Record<string, unknown>>,
    sessionId?: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#ids;
    const to = this.#child.stdio[3] as Writable;
    to.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${error.message}`));
      });
    });
  }

  async close(): Promise<void> {
    // The browser may be gone before its answer has left.
    await Promise.race([this.send('Browser.close', {}), this.#exited]);
    await this.#exited;
    // Helpers of the browser write to the profile until they notice that it is gone.
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** A page that asks before it is left is left: else a test that failed would block the next. */
  #accept(session: string | undefined): void {
    void this.send('Page.handleJavaScriptDialog', { accept: true }, session).catch(() => {});
  }

  #take(text: string): void {
    const parts = (this.#unread + text).split('\0');
    this.#unread = parts.pop() ?? '';
    for (const part of parts) {
      const message = JSON.parse(part) as Message;
      if (message.method === 'Log.entryAdded') this.logged.push(message.params?.entry?.text ?? '');
      if (message.method === 'Page.javascriptDialogOpening') this.#accept(message.sessionId);
      const settle = message.id === undefined ? undefined : this.#waiting.get(message.id);
      if (message.id !== undefined) this.#waiting.delete(message.id);
      settle?.(message);
    }
  }
}

/** Codes of the keys to which the browser itself does something. */
const KEY_CODES: Readonly<Record<string, number>> = {
  Tab: 9,
  Escape: 27,
  ArrowRight: 39,
};

export class Page {
  readonly #browser: Chromium;
  readonly #session: string;

  constructor(browser: Chromium, session: string) {
    this.#browser = browser;
    this.#session = session;
  }

  async begin(url: string): Promise<void> {
    await this.#send('Log.enable', {});
    await this.#send('Page.enable', {});
    await this.go(url);
  }

  /** The value of an expression, or of the promise that it gives. */
  async run(expression: string): Promise<unknown> {
    const given = await this.#send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    const { result, exceptionDetails } = given as {
      readonly result?: { readonly value?: unknown };
      readonly exceptionDetails?: unknown;
    };
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result?.value;
  }

  /** Runs in every document of the tab before its own scripts. Gives what ends that. */
  async before(script: string): Promise<() => Promise<void>> {
    const source = { source: script };
    const { identifier } = await this.#send('Page.addScriptToEvaluateOnNewDocument', source);
    return async () => {
      await this.#send('Page.removeScriptToEvaluateOnNewDocument', { identifier });
    };
  }

  async go(url: string): Promise<void> {
    await this.#send('Page.navigate', { url });
    await this.run(`new Promise((done) => {
      if (document.readyState === 'complete') done();
      else addEventListener('load', () => done());
    })`);
  }

  /** The width of the window in CSS pixels, and the theme that its reader prefers. */
  async look(width: number, height: number, theme: 'light' | 'dark'): Promise<void> {
    const size = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.#send('Emulation.setDeviceMetricsOverride', size);
    const features = [{ name: 'prefers-color-scheme', value: theme }];
    await this.#send('Emulation.setEmulatedMedia', { features });
  }

  /** Without the bars that a phone shows only while it scrolls. */
  async hideScrollbars(): Promise<void> {
    await this.#send('Emulation.setScrollbarsHidden', { hidden: true });
  }

  /** What the window shows. */
  async picture(format: 'webp' | 'png'): Promise<Buffer> {
    const options = format === 'webp' ? { format, quality: 80 } : { format };
    const { data } = await this.#send('Page.captureScreenshot', options);
    return Buffer.from(String(data), 'base64');
  }

  /** Keys as a person presses them: `key` with `modifiers` (2: Ctrl). */
  async press(key: string, modifiers = 0): Promise<void> {
    for (const type of ['keyDown', 'keyUp']) {
      const text = key.length === 1 && modifiers === 0 ? { text: key } : {};
      const windowsVirtualKeyCode = KEY_CODES[key];
      const pressed = { type, key, modifiers, windowsVirtualKeyCode, ...text };
      await this.#send('Input.dispatchKeyEvent', pressed);
    }
  }

  async type(text: string): Promise<void> {
    await this.#send('Input.insertText', { text });
  }

  /** What the page holds after a collection. */
  async heapBytes(): Promise<number> {
    await this.#send('HeapProfiler.collectGarbage', {});
    const { usedSize } = await this.#send('Runtime.getHeapUsage', {});
    return Number(usedSize);
  }

  async close(): Promise<void> {
    await this.#send('Page.close', {});
  }

  #send(method: string, params: Readonly<Record<string, unknown>>) {
    return this.#browser.send(method, params, this.#session);
  }
}
