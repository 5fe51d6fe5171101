/**
 * The network between the nodes of a cluster: one proxy for each, and what a test does to the
 * ordered pairs of them.
 */
import { CUT, type Endpoint, type Link, OPEN, PeerProxy, STANDBY } from './peer-proxy.js';

export class PeerNetwork {
  readonly #proxies = new Map<number, PeerProxy>();

  /** Begins to pass connections for `node` from one endpoint on to the other. */
  async add(node: number, at: Endpoint, target: Endpoint): Promise<void> {
    const proxy = new PeerProxy(target);
    await proxy.listen(at);
    this.#proxies.set(node, proxy);
  }

  async remove(node: number): Promise<void> {
    await this.#proxies.get(node)?.close();
    this.#proxies.delete(node);
  }

  get nodes(): readonly number[] {
    return [...this.#proxies.keys()];
  }

  /** What `from` sends to `to`. */
  set(from: number, to: number, link: Link): void {
    this.#proxies.get(to)?.setLink(from, link);
  }

  /** Both ways between each node of one side and each of the other. */
  between(one: readonly number[], other: readonly number[], link: Link): void {
    for (const a of one) {
      for (const b of other) {
        if (a === b) continue;
        this.set(a, b, link);
        this.set(b, a, link);
      }
    }
  }

  /** Nothing passes to or from `node`. */
  isolate(node: number, link: Link = CUT): void {
    this.between([node], this.#others(node), link);
  }

  /** The node sends and nothing reaches it. */
  deafen(node: number, link: Link = CUT): void {
    for (const other of this.#others(node)) this.set(other, node, link);
  }

  /** The node hears all and nothing that it sends arrives. */
  mute(node: number, link: Link = CUT): void {
    for (const other of this.#others(node)) this.set(node, other, link);
  }

  /** Between these nodes and every standby; `heal` leaves it alone. */
  toStandbys(link: Link, nodes = this.nodes): void {
    for (const node of nodes) this.set(STANDBY, node, link);
  }

  heal(): void {
    this.between(this.nodes, this.nodes, OPEN);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
    this.#proxies.clear();
  }

  #others(node: number): number[] {
    return this.nodes.filter((other) => other !== node);
  }
}
