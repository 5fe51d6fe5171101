/**
 * The way to the other nodes, as this node sees it: bytes go out, bytes come in. The port may lose,
 * repeat, delay and reorder what it is given; nothing above relies on more. A socket stands behind
 * it in a process, a seeded network in the simulator.
 */

/**
 * What travels apart, so that one cannot hold up the other:
 *
 *     control    of consensus, what is small: votes, heartbeats, acknowledgements
 *     consensus  appends, which carry entries
 *     bulk       rows of snapshots, repaired entries, digests
 *     calls      questions to a node (`peers/calls.ts`)
 *     answers    the other direction of `calls`: it reaches whoever asked, also a node whose
 *                address is not known here
 */
export const PEER_CHANNELS = ['control', 'consensus', 'bulk', 'calls', 'answers'] as const;
export type PeerChannel = (typeof PEER_CHANNELS)[number];

export interface PeerPort {
  /**
   * `to` is the operator's number of the node (SVC_RAFT_NODE_ID). The parts are one frame; the port
   * keeps them by reference until they are sent: nobody may write to them before. False when
   * the frame was dropped at once: the peer is not connected or its queue is full. `sent` runs once
   * the port reads the parts no more; it need not run at all, and does not when the frame is lost.
   */
  send(to: number, channel: PeerChannel, parts: readonly Uint8Array[], sent?: () => void): boolean;

  /** Set once by the node; called with every frame that arrives. `from` was authenticated. */
  onFrame: (from: number, channel: PeerChannel, frame: Uint8Array) => void;

  /**
   * Set once by the node. The connection that carries this channel to `node` broke or could not be
   * made: what was sent may be lost. For `answers` it is the connection of the one who asked.
   */
  onUnreachable: (node: number, channel: PeerChannel) => void;
}
