import { useLayoutEffect, useState } from 'preact/hooks';
import type { Store } from '../base/store.js';

/** The value of a store; the component is drawn anew when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, redraw] = useState(0);
  useLayoutEffect(() => store.follow(() => redraw((count) => count + 1)), [store]);
  return store.value;
}
