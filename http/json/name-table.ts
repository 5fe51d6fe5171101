/**
 * Strings of names that came before, found by their bytes.
 *
 * The job: nearly every request names a queue and a partition that the requests before it named.
 * Making a string of such a name costs more than finding the one that was made before; and that one
 * carries its hash already, which every map would have to compute of a new one.
 *
 * A table without chains: what comes to a taken place takes it over. So it never grows beyond
 * NAMES_MAX * NAME_BYTES_MAX bytes of text, and names that meet at one place cost what they cost
 * without the table. Only names of printable ASCII are to be looked up, whose bytes are their code
 * units.
 */
const NAMES_MAX = 1024;
const NAME_BYTES_MAX = 48;

const names = new Array<string>(NAMES_MAX).fill('');

/** The text at `start..end`. */
export function nameAt(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length > NAME_BYTES_MAX) return bytes.toString('latin1', start, end);
  let hash = length;
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0;
  const place = (hash ^ (hash >>> 10)) & (NAMES_MAX - 1);
  const known = names[place] as string;
  if (isAt(known, bytes, start, length)) return known;
  const name = bytes.toString('latin1', start, end);
  names[place] = name;
  return name;
}

function isAt(name: string, bytes: Buffer, start: number, length: number): boolean {
  if (name.length !== length) return false;
  let i = 0;
  while (i < length && name.charCodeAt(i) === bytes[start + i]) i++;
  return i === length;
}
