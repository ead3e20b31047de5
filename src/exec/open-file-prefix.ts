/** A program that is told to read a file from a descriptor reads it from this one. */
export const OPEN_FILE_DESCRIPTOR = 9

const OPEN_AND_RUN = ["/bin/sh", "-c", `exec ${OPEN_FILE_DESCRIPTOR}<"$1"; shift; exec "$@"`, "sh"]

/** Returns the start of a command line that runs the rest of it with the file open at `OPEN_FILE_DESCRIPTOR`. */
export function openFilePrefix(path: string): readonly string[] {
  return [...OPEN_AND_RUN, path]
}

/**
 * Returns the command line without the prefix and the file that the prefix would open. Whoever starts the process can open the file itself,
 * which takes less time than a shell.
 */
export function splitOpenFile(commandLine: readonly string[]): {
  readonly openFile: string | undefined
  readonly commandLine: readonly string[]
} {
  const hasPrefix = OPEN_AND_RUN.every((word, index) => commandLine[index] === word)
  return hasPrefix
    ? { openFile: commandLine[OPEN_AND_RUN.length], commandLine: commandLine.slice(OPEN_AND_RUN.length + 1) }
    : { openFile: undefined, commandLine }
}

/** What `spawn` gets for the descriptors between standard error and `OPEN_FILE_DESCRIPTOR`: they stay closed. */
export const CLOSED_DESCRIPTORS: readonly "ignore"[] = Array.from({ length: OPEN_FILE_DESCRIPTOR - 3 }, () => "ignore")
