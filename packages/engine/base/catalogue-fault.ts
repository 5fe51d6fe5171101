/**
 * What this build cannot read: an entry or a state that a newer one wrote. Skipping what is not
 * understood would let two nodes disagree for ever after, so the node stops and says so.
 */
export type CatalogueFaultCode = 'unknown_effect' | 'unknown_field' | 'cluster_version_unreadable';

export class CatalogueFault extends Error {
  readonly code: CatalogueFaultCode;

  constructor(code: CatalogueFaultCode, message: string) {
    super(message);
    this.name = 'CatalogueFault';
    this.code = code;
  }
}
