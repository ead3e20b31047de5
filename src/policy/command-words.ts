/** A simple command in the sense of POSIX: the words between two separators. */
export interface SimpleCommand {
  readonly words: readonly string[]
  /** Each word as a program name: lower case, without its directory. */
  readonly programs: readonly string[]
  /** Index of the program that is run, after assignments, reserved words and wrappers such as sudo. */
  readonly programIndex: number
  /** The target of an earlier `cd` on the same command line. */
  readonly directory?: string
}

/**
 * Splits a command line wherever another command may start, even inside quotes, because a nested shell may run quoted text. Removes
 * quotes and comments.
 */
export function simpleCommands(text: string): readonly SimpleCommand[] {
  let directory: string | undefined
  return text.split(SEPARATORS).flatMap((segment) => {
    const words = splitWords(segment)
    if (words.length === 0) return []
    const programs = words.map(programName)
    const programIndex = findProgram(words, programs)
    const found = { words, programs, programIndex, ...(directory === undefined ? {} : { directory }) }
    if (programs[programIndex] === "cd") directory = words[programIndex + 1] ?? "~"
    return [found]
  })
}

/** Returns the index after the options of a wrapper, where its operands or the wrapped command start. */
export function endOfOptions(words: readonly string[], from: number, wrapper: string): number {
  const valued = WRAPPERS[wrapper]?.valued ?? ""
  let index = from
  for (let word = words[index]; word?.startsWith("-") === true && word !== "--"; word = words[index]) {
    const takesNext = word.length === 2 && valued.includes(word.slice(1))
    index += takesNext ? 2 : 1
  }
  return words[index] === "--" ? index + 1 : index
}

const SEPARATORS = /[;&|\n()`]/

function splitWords(segment: string): readonly string[] {
  const words = segment
    .replaceAll(/["']/g, "")
    .split(/\s+/)
    .filter((word) => word !== "")
  const comment = words.findIndex((word) => word.startsWith("#"))
  return comment === -1 ? words : words.slice(0, comment)
}

function programName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1).toLowerCase()
}

function findProgram(words: readonly string[], programs: readonly string[]): number {
  let index = 0
  while (index < words.length) {
    const program = programs[index] ?? ""
    const wrapper = Object.hasOwn(WRAPPERS, program) ? WRAPPERS[program] : undefined
    if (wrapper !== undefined) index = endOfOptions(words, index + 1, program) + wrapper.operands
    else if (RESERVED.has(program) || ASSIGNMENT.test(words[index] ?? "")) index += 1
    else return index
  }
  return index
}

const ASSIGNMENT = /^[A-Za-z_]\w*=/
const RESERVED = new Set("if then else elif do while until ! { } time coproc case in $".split(" "))

interface Wrapper {
  /** Letters of the options that take the next word as their value. */
  readonly valued: string
  /** Number of operands between the options and the command. */
  readonly operands: number
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  ...plain("nohup setsid exec command builtin busybox caffeinate fakeroot firejail proot eval bash sh zsh dash ksh"),
  sudo: { valued: "ughpCrtTUDR", operands: 0 },
  doas: { valued: "uC", operands: 0 },
  su: { valued: "gGsw", operands: 0 },
  runuser: { valued: "ugGs", operands: 0 },
  env: { valued: "uCS", operands: 0 },
  nice: { valued: "n", operands: 0 },
  ionice: { valued: "cnp", operands: 0 },
  timeout: { valued: "ks", operands: 1 },
  stdbuf: { valued: "ioe", operands: 0 },
  xargs: { valued: "InPdLEsa", operands: 0 },
  unshare: { valued: "SG", operands: 0 },
  chroot: { valued: "", operands: 1 },
  flock: { valued: "wE", operands: 1 },
  strace: { valued: "eopsu", operands: 0 },
  "systemd-run": { valued: "ptuE", operands: 0 },
  nsenter: { valued: "tSG", operands: 0 },
}

function plain(names: string): Record<string, Wrapper> {
  return Object.fromEntries(names.split(" ").map((name) => [name, { valued: "", operands: 0 }]))
}
