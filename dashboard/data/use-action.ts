/** One action of the reader: pressed, under way, done or refused. It is never sent by itself. */
import { useCallback, useRef, useState } from 'preact/hooks';
import { reasonOf } from '../base/call-error.js';

export interface Action<Input extends readonly unknown[]> {
  readonly isBusy: boolean;
  /** Why the last one failed; null: it did not. */
  readonly error: string | null;
  /** Resolves to whether it succeeded. While one is under way another is not begun. */
  readonly run: (...input: Input) => Promise<boolean>;
  readonly forget: () => void;
}

export function useAction<Input extends readonly unknown[]>(
  work: (...input: Input) => Promise<unknown>,
): Action<Input> {
  const [state, setState] = useState<{ isBusy: boolean; error: string | null }>(IDLE);
  const current = useRef(work);
  current.current = work;
  const isUnderWay = useRef(false);
  const run = useCallback(async (...input: Input) => {
    if (isUnderWay.current) return false;
    isUnderWay.current = true;
    setState({ isBusy: true, error: null });
    let error: string | null = null;
    try {
      await current.current(...input);
    } catch (thrown) {
      error = reasonOf(thrown);
    }
    isUnderWay.current = false;
    setState({ isBusy: false, error });
    return error === null;
  }, []);
  const forget = useCallback(() => setState(IDLE), []);
  return { ...state, run, forget };
}

const IDLE = { isBusy: false, error: null };
