import { useCallback, useLayoutEffect, useState } from 'preact/hooks';
import { usePlace } from '../data/location.js';
import { keep, readKept } from '../data/storage.js';

const KEPT = 'svc.sidebar';
/** As in `shell.css`. */
const NARROW = '(max-width: 900px)';

/** Open or not, kept in this browser. On a narrow screen a choice of a page closes it. */
export function useSidebar() {
  const { path } = usePlace();
  const [isCollapsed, setCollapsed] = useState(
    () => matchMedia(NARROW).matches || readKept('localStorage', KEPT) === 'collapsed',
  );
  useLayoutEffect(() => {
    if (matchMedia(NARROW).matches) setCollapsed(true);
  }, [path]);
  const toggle = useCallback(() => {
    setCollapsed((was) => {
      if (!matchMedia(NARROW).matches) keep('localStorage', KEPT, was ? 'open' : 'collapsed');
      return !was;
    });
  }, []);
  return { isCollapsed, toggle };
}
