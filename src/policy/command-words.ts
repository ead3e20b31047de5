/** The words of one command between two separators. */
export interface SimpleCommand {
  readonly words: readonly string[]
  /** The program name each word would be: lower case, without its directory. */
  readonly programs: readonly string[]
  /** Where the program stands that is really run, behind assignments, reserved words and wrappers such as sudo. */
  readonly programAt: number
  /** The directory an earlier literal `cd` of the same line went to. */
  readonly directory?: string
}

/**
 * Cuts a command line at everything that may begin another command, quoted or not, and takes the quotes away: what stands in
 * quotes may be run by a shell further down. Comments are left out.
 */
export function simpleCommands(text: string): readonly SimpleCommand[] {
  let directory: string | undefined
  return text.split(SEPARATORS).flatMap((segment) => {
    const words = wordsOf(segment)
    if (words.length === 0) return []
    const programs = words.map(programName)
    const programAt = findProgram(words, programs)
    const found = { words, programs, programAt, ...(directory === undefined ? {} : { directory }) }
    if (programs[programAt] === "cd") directory = words[programAt + 1] ?? "~"
    return [found]
  })
}

/** Where the options of a wrapper end: what follows is the command it starts, or its own operand. */
export function endOfOptions(words: readonly string[], from: number, wrapper: string): number {
  const valued = WRAPPERS[wrapper]?.valued ?? ""
  let at = from
  for (let word = words[at]; word?.startsWith("-") === true && word !== "--"; word = words[at]) {
    const takesNext = word.length === 2 && valued.includes(word.slice(1))
    at += takesNext ? 2 : 1
  }
  return words[at] === "--" ? at + 1 : at
}

const SEPARATORS = /[;&|\n()`]/

function wordsOf(segment: string): readonly string[] {
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
  let at = 0
  while (at < words.length) {
    const program = programs[at] ?? ""
    const wrapper = Object.hasOwn(WRAPPERS, program) ? WRAPPERS[program] : undefined
    if (wrapper !== undefined) at = endOfOptions(words, at + 1, program) + wrapper.operands
    else if (RESERVED.has(program) || ASSIGNMENT.test(words[at] ?? "")) at += 1
    else return at
  }
  return at
}

const ASSIGNMENT = /^[A-Za-z_]\w*=/
const RESERVED = new Set("if then else elif do while until ! { } time coproc case in $".split(" "))

interface Wrapper {
  /** Letters of the options that take the next word. */
  readonly valued: string
  /** Words of its own between the options and the command. */
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
