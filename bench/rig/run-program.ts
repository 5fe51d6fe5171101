// What every program of this folder does around its work: help, and one line for what went wrong.

/** `work` gets the arguments; it throws an Error whose text is for the person who started it. */
export async function runProgram(
  usage: string,
  work: (commandLine: readonly string[]) => Promise<unknown>,
): Promise<void> {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  try {
    await work(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
