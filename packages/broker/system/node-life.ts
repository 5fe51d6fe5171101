/** Where a node is in its life. The node alone writes it; whoever answers for the node reads it. */
export class NodeLife {
  /** This node has caught up once: what it shows is a state that the group had. */
  serving = false;
  /** It hands leadership over and does not campaign, but goes on serving. */
  retiring = false;
  stopping = false;
  /** Why this node takes no part any more; null while it does. */
  failure: string | null = null;

  get halted(): boolean {
    return this.failure !== null;
  }

  /** It is about to stop, or takes no part any more. */
  get ending(): boolean {
    return this.retiring || this.stopping || this.halted;
  }
}
