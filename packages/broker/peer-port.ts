/**
 * The way to the other nodes, as this node sees it: bytes go out, bytes come in. The port may lose,
 * repeat, delay and reorder what it is given; nothing above relies on more. A socket stands behind
 * it in a process, a seeded network in the simulator.
 */

/**
 * What travels apart, so that one cannot hold up the other: `consensus` carries votes, heartbeats
 * and appends; `bulk` carries rows of snapshots and repaired entries.
 */
export type PeerChannel = 'consensus' | 'bulk';

export interface PeerPort {
  /**
   * `to` is the operator's number of the node (SVC_RAFT_NODE_ID). The parts are one frame; the port
   * keeps them by reference until they are sent, so nobody may write to them any more. False when
   * the frame was dropped at once: the peer is unknown or its queue is full.
   */
  send(to: number, channel: PeerChannel, parts: readonly Uint8Array[]): boolean;

  /** Set once by the node; called with every frame that arrives. `from` was authenticated. */
  onFrame: (from: number, channel: PeerChannel, frame: Uint8Array) => void;

  /** Set once by the node; the connection to a peer broke or could not be made. */
  onUnreachable: (node: number) => void;
}
