/** What `npm run platforms` needs of the system that it runs on. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** The native HTTP build for Node 24 is linked against it; that for Node 22 needs 2.27. */
const GLIBC_OF_NODE_24 = [2, 38] as const;

interface ReportHeader {
  readonly header: { readonly glibcVersionRuntime?: string };
}

export function glibcVersion(): string {
  const { header } = process.report.getReport() as unknown as ReportHeader;
  return header.glibcVersionRuntime ?? '0.0';
}

/** Node 24 on a system whose C library is too old for its native build. */
export function needsRoot(major: number, glibc = glibcVersion()): boolean {
  if (major !== 24) return false;
  const [first = 0, second = 0] = glibc.split('.').map(Number);
  const [wantedFirst, wantedSecond] = GLIBC_OF_NODE_24;
  return first < wantedFirst || (first === wantedFirst && second < wantedSecond);
}

/** One line for each thing that is not there. */
export function whatIsMissing(
  majors: readonly number[],
  glibc = glibcVersion(),
  has: (program: string) => boolean = isInPath,
  userId = process.getuid?.() ?? 0,
): string[] {
  const missing: string[] = [];
  for (const program of ['git', 'tar']) {
    if (!has(program)) missing.push(`${program} is not installed`);
  }
  if (!majors.some((major) => needsRoot(major, glibc))) return missing;
  const why =
    `Node 24 needs glibc 2.38 or later and this system has ${glibc}, so its tests run in a root ` +
    'of their own';
  for (const program of ['debootstrap', 'unshare', 'chroot', 'mount']) {
    if (!has(program)) missing.push(`${program} is not installed; ${why}`);
  }
  if (userId !== 0) missing.push(`only root can make one; ${why}`);
  return missing;
}

function isInPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
