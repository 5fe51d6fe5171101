/**
 * The program of a node. It loads the layers one after the other, and then begins
 * (`node/program.ts`).
 *
 * Node reads all modules of an import graph at the same time, with a file open for each. There are
 * several hundred, and a process that may open 256 files ended before its first line. Loaded layer
 * by layer, no more are open at once than the largest layer has modules.
 */
await import('@svc/engine');
await import('@svc/storage');
await import('@svc/http');
await import('./node/program.js');

export {};
