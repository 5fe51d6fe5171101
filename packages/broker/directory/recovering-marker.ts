/**
 * The marker of a node that lost entries which it may have acknowledged: a file beside term and
 * vote. While it stands, the node starts without its vote. It is durable before the entries go, and
 * goes only when consensus says that the node has caught up.
 */
import { type Disk, replaceFileSync } from '@svc/storage';

const MARKER_NAME = 'recovering';
const TEXT =
  'This node lost entries of its log that it had acknowledged. It does not vote until it has ' +
  'caught up; then this file goes. Do not remove it by hand.\n';

export class RecoveringMarker {
  readonly #disk: Disk;
  readonly #directory: string;

  /** `directory` is that of term and vote. */
  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
  }

  get stands(): boolean {
    return this.#disk.existsSync(this.#path);
  }

  /** Durable when it returns. */
  set(): void {
    if (this.stands) return;
    replaceFileSync(this.#disk, this.#directory, MARKER_NAME, new Uint8Array(Buffer.from(TEXT)));
  }

  /** Durable when it returns. */
  clear(): void {
    if (!this.stands) return;
    this.#disk.removeSync(this.#path);
    this.#disk.syncDirectorySync(this.#directory);
  }

  get #path(): string {
    return `${this.#directory}/${MARKER_NAME}`;
  }
}
