/** JSON that somebody types, to be stored as it is typed. */

/** Why it is no JSON; null: it is. */
export function faultOfJson(text: string): string | null {
  if (text.trim() === '') return 'A payload is needed: any JSON, null among it.';
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The body of a push of one message; the payload goes as its text, so numbers stay as typed. */
export function pushBody(
  item: Readonly<Record<'queue' | 'partition' | 'transactionId', string>>,
  payload: string,
): string {
  const named = Object.entries(item).filter(([, value]) => value !== '');
  const head = JSON.stringify(Object.fromEntries(named)).slice(0, -1);
  return `{"items":[${head},"payload":${payload}}]}`;
}
