/** The meaning of a non-zero exit code of well-known programs; uses the last command of a pipeline. */
export function exitCodeMeaning(command: string, code: number): string | undefined {
  if (code === 0) return undefined
  const program = lastProgram(command)
  return Object.hasOwn(MEANINGS, program) ? MEANINGS[program]?.[code] : undefined
}

function lastProgram(command: string): string {
  const segment = command
    .replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"/gs, "q")
    .split(/[|;\n]|&&/)
    .findLast((part) => part.trim() !== "")
  const words = segment?.trim().split(/\s+/) ?? []
  const word = words.find((candidate) => !/^[A-Za-z_]\w*=/.test(candidate)) ?? ""
  return word.slice(word.lastIndexOf("/") + 1)
}

const NO_MATCHES = { 1: "no matches were found (not an error)" }
const DIFFERENT = { 1: "the files differ (not an error)" }
const FALSE = { 1: "the condition is false (not an error)" }

const MEANINGS: Record<string, Record<number, string>> = {
  grep: NO_MATCHES,
  egrep: NO_MATCHES,
  fgrep: NO_MATCHES,
  rg: NO_MATCHES,
  ag: NO_MATCHES,
  ack: NO_MATCHES,
  diff: DIFFERENT,
  colordiff: DIFFERENT,
  find: { 1: "some directories could not be searched; the output is incomplete" },
  test: FALSE,
  "[": FALSE,
  curl: {
    6: "the host name could not be resolved",
    7: "the connection was refused",
    22: "the server returned an HTTP error",
    28: "the request timed out",
  },
  git: { 1: "often normal for git (for example: diff found differences)" },
}
