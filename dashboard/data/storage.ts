/**
 * The browser's storage for the page: of a tab, or for ever. It may be set to keep nothing, or be
 * full; then what is kept lasts as long as the page does.
 */
type Area = 'sessionStorage' | 'localStorage';

/** null: nothing is kept. */
export function readKept(area: Area, name: string): string | null {
  try {
    return window[area].getItem(name);
  } catch {
    // The property itself throws where cookies are blocked.
    return null;
  }
}

/** null: nothing is to be kept. Gives whether it was done. */
export function keep(area: Area, name: string, value: string | null): boolean {
  try {
    if (value === null) window[area].removeItem(name);
    else window[area].setItem(name, value);
    return true;
  } catch {
    return false;
  }
}
