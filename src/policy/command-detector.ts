import { stripAnsi } from "../base/strip-ansi.ts"
import { endOfOptions, simpleCommands } from "./command-words.ts"
import type { SimpleCommand } from "./command-words.ts"
import { isSystemDirectory, isUserHome, isWholeDisk } from "./delete-target.ts"

/** What a command would do that a person should know about first. `hardline` is never run. */
export interface CommandFinding {
  readonly level: "hardline" | "ask"
  /** Also the key under which a person's "for this session" is remembered. */
  readonly key: string
}

/**
 * Looks at the text of a command, quoted parts included: it may find too much, which costs a question, not a file. Each rule takes
 * time linear in the text.
 */
export function detectCommand(command: string, userHome?: string): CommandFinding | undefined {
  // No system starts a longer one; judging it would only cost time.
  if (command.length > MAX_JUDGED_CHARS) return { level: "ask", key: "command too long to judge" }
  const text = foldHome(normalise(command), userHome)
  const commands = simpleCommands(text)
  const hard = HARDLINE.find((rule) => applies(rule, text, commands))
  if (hard !== undefined) return { level: "hardline", key: hard.key }
  const risky = RISKY.find((rule) => applies(rule, text, commands))
  return risky === undefined ? undefined : { level: "ask", key: risky.key }
}

const MAX_JUDGED_CHARS = 256 * 1024

/** Escapes and empty quotes hide a word from a pattern but not from the shell. */
function normalise(command: string): string {
  return stripAnsi(command)
    .replaceAll("\0", "")
    .normalize("NFKC")
    .replaceAll(/\\\n/g, " ")
    .replaceAll(/\\(.)/gs, "$1")
    .replaceAll(/''|""/g, "")
}

/** The account's home is `~`, however it is written. */
function foldHome(text: string, userHome: string | undefined): string {
  if (userHome === undefined || userHome.length < 2) return text
  return text
    .split(userHome)
    .reduce((before, after) => `${before}${/^(?:[\s/"';&|)`*]|$)/.test(after) ? "~" : userHome}${after}`)
}

type Rule = { readonly key: string } & (
  | { readonly text: RegExp }
  /** Each pattern is found somewhere behind the one before. */
  | { readonly inOrder: readonly RegExp[] }
  /** The program that is really run. */
  | { readonly runs: RegExp }
  /** A program anywhere in a simple command: what stands before it may be a wrapper nobody has heard of. */
  | { readonly program: string | readonly string[]; readonly when: (call: Invocation) => boolean }
)

/** A program name in a simple command and the words behind it. */
interface Invocation {
  readonly words: readonly string[]
  readonly flags: readonly string[]
  readonly operands: readonly string[]
  /** Where an earlier `cd` went. */
  readonly directory: string | undefined
}

function applies(rule: Rule, text: string, commands: readonly SimpleCommand[]): boolean {
  if ("text" in rule) return rule.text.test(text)
  if ("inOrder" in rule) return foundInOrder(text, rule.inOrder)
  if ("runs" in rule) return commands.some(({ programs, programAt }) => rule.runs.test(programs[programAt] ?? ""))
  const names = typeof rule.program === "string" ? [rule.program] : rule.program
  return commands.some((command) => {
    const at = command.programs.findIndex((program) => names.includes(program))
    return at !== -1 && rule.when(invocation(command, at + 1))
  })
}

function foundInOrder(text: string, patterns: readonly RegExp[]): boolean {
  let rest = text
  return patterns.every((pattern) => {
    const found = pattern.exec(rest)
    if (found === null) return false
    rest = rest.slice(found.index + found[0].length)
    return true
  })
}

function invocation(command: SimpleCommand, from: number): Invocation {
  const words = command.words.slice(from)
  const isFlag = (word: string): boolean => word.length > 1 && word.startsWith("-")
  return {
    words,
    flags: words.filter(isFlag),
    operands: words.filter((word) => !isFlag(word)),
    directory: command.directory,
  }
}

const RAW_DEVICE = /^\/dev\/(?:sd|nvme|hd|mmcblk|vd|xvd|disk)/i
const recursive = ({ flags }: Invocation): boolean =>
  flags.some((flag) => /^--recursive$/i.test(flag) || /^-[a-z]*r/i.test(flag))
const hasFlag =
  (pattern: RegExp) =>
  ({ flags }: Invocation): boolean =>
    flags.some((flag) => pattern.test(flag))
const firstOperand = ({ operands }: Invocation, pattern: RegExp): boolean => pattern.test(operands[0] ?? "")
/** `rm dir/*` empties a directory without being told to go below it. */
const deletes =
  (isTarget: (path: string) => boolean) =>
  (call: Invocation): boolean =>
    call.operands.some(
      (operand) => (recursive(call) || operand.endsWith("*")) && isTarget(inDirectory(operand, call.directory)),
    )

function inDirectory(operand: string, directory: string | undefined): string {
  return directory === undefined || /^[/~$]/.test(operand) ? operand : `${directory}/${operand}`
}

const HARDLINE: readonly Rule[] = [
  {
    key: "fork bomb",
    text: /:\s{0,20}\(\s{0,20}\)\s{0,20}\{\s{0,20}:\s{0,20}\|\s{0,20}:\s{0,20}&\s{0,20}\}\s{0,20};\s{0,20}:/,
  },
  { key: "recursive delete of root filesystem", program: "rm", when: deletes(isWholeDisk) },
  { key: "recursive delete of system directory", program: "rm", when: deletes(isSystemDirectory) },
  { key: "recursive delete of home directory", program: "rm", when: deletes(isUserHome) },
  { key: "format filesystem (mkfs)", runs: /^mkfs(?:\.|$)/ },
  {
    key: "dd to raw block device",
    program: "dd",
    when: ({ words }) => words.some((word) => /^of=/i.test(word) && RAW_DEVICE.test(word.slice(3))),
  },
  {
    key: "dd to raw block device",
    program: ["tee", "shred", "wipefs", "blkdiscard"],
    when: ({ operands }) => operands.some((operand) => RAW_DEVICE.test(operand)),
  },
  {
    key: "dd to raw block device",
    program: ["cp", "mv"],
    when: ({ operands }) => RAW_DEVICE.test(operands.at(-1) ?? ""),
  },
  { key: "redirect to raw block device", text: />\|?\s{0,20}["']?\/dev\/(?:sd|nvme|hd|mmcblk|vd|xvd|disk)/i },
  {
    key: "kill all processes",
    program: "kill",
    when: ({ words }) => (words.length === 1 && words[0] === "-1") || words.slice(1).includes("-1"),
  },
  { key: "system shutdown/reboot", runs: /^(?:shutdown|reboot|halt|poweroff)$/ },
  { key: "init/telinit 0|6", program: ["init", "telinit"], when: ({ words }) => words[0] === "0" || words[0] === "6" },
  {
    key: "systemctl poweroff/reboot",
    program: "systemctl",
    when: (call) => firstOperand(call, /^(?:poweroff|reboot|halt|kexec)$/i),
  },
]

const CREDENTIAL_FILES = String.raw`(?:~|\$HOME|\$\{HOME\})\/\.(?:ssh|bashrc|zshrc|profile|bash_profile|zprofile|netrc|pgpass|npmrc|pypirc)`
const SCRIPT_RUNNERS = ["python", "python2", "python3", "perl", "ruby", "node"]

const RISKY: readonly Rule[] = [
  {
    key: "delete in root path",
    program: "rm",
    when: ({ operands }) => operands.some((operand) => operand.startsWith("/")),
  },
  { key: "recursive delete (long flag)", program: "rm", when: hasFlag(/^--recursive$/i) },
  { key: "recursive delete", program: "rm", when: recursive },
  {
    key: "world/other-writable permissions",
    program: "chmod",
    when: ({ operands }) => operands.some((operand) => /^(?:[0-7]?(?:777|666)|[ugo]*[oa][ugoa]*\+\w*w)/.test(operand)),
  },
  {
    key: "recursive chown to root",
    program: "chown",
    when: (call) => recursive(call) && call.operands.some((operand) => /^root\b/.test(operand)),
  },
  { key: "disk copy", program: "dd", when: ({ words }) => words.some((word) => /^if=/i.test(word)) },
  { key: "SQL DROP", text: /\bdrop\s{1,20}(?:table|database)\b/i },
  { key: "SQL TRUNCATE", text: /\btruncate\s{1,20}table\b/i },
  { key: "overwrite system config", text: />\|?\s{0,20}["']?\/etc\// },
  {
    key: "stop/restart system service",
    program: "systemctl",
    when: (call) => firstOperand(call, /^(?:stop|restart|disable|mask)$/i),
  },
  {
    key: "force kill processes",
    program: ["pkill", "killall"],
    when: ({ words }) =>
      words.some(
        (word, at) =>
          /^-(?:9|(?:SIG)?KILL)$/i.test(word) || (word === "-s" && /^(?:9|(?:SIG)?KILL)$/i.test(words[at + 1] ?? "")),
      ),
  },
  { key: "kill processes by regex (killall -r)", program: "killall", when: hasFlag(/^-\w*r/) },
  {
    // A hang-up for one process looks almost like a signal to all of them.
    key: "kill all processes",
    program: "kill",
    when: ({ words }) => words[0] === "-1" && words.length > 1,
  },
  {
    key: "shell command via -c/-lc flag",
    program: ["sh", "bash", "zsh", "ksh", "dash"],
    when: ownFlag("sh", /^-\w*c$/),
  },
  { key: "script execution via -e/-c flag", program: SCRIPT_RUNNERS, when: ownFlag("", /^-\w*[ec]$/) },
  {
    key: "pipe remote content to shell",
    inOrder: [/\b(?:curl|wget)\b/i, /\|\s{0,20}(?:[\w.-]{0,40}\/){0,8}(?:ba|z|k|da)?sh\b/i],
  },
  {
    key: "execute remote script via process substitution",
    text: /\b(?:ba|z|k|da)?sh\s{1,20}<\(\s{0,20}(?:curl|wget)\b/i,
  },
  { key: "xargs with rm", program: "xargs", when: ({ words }) => words.some((word) => /^(?:.*\/)?rm$/i.test(word)) },
  {
    key: "find -exec/-execdir rm",
    program: "find",
    when: ({ words }) =>
      words.some((word, at) => /^-(?:exec|execdir|ok)$/.test(word) && /^(?:.*\/)?rm$/i.test(words[at + 1] ?? "")),
  },
  { key: "find -delete", program: "find", when: hasFlag(/^-delete$/) },
  { key: "overwrite system file via redirection", text: new RegExp(String.raw`>\|?\s{0,20}["']?${CREDENTIAL_FILES}`) },
  { key: "git reset --hard (destroys uncommitted changes)", program: "git", when: subcommand("reset", /^--hard$/) },
  {
    key: "git force push (rewrites remote history)",
    program: "git",
    when: subcommand("push", /^--force|^-\w*f/),
  },
  {
    key: "git clean with force (deletes untracked files)",
    program: "git",
    when: subcommand("clean", /^-\w*f|^--force$/),
  },
  {
    key: "git branch force delete",
    program: "git",
    when: (call) =>
      subcommand("branch", /^-\w*D/)(call) || (subcommand("branch", /^--delete$/)(call) && hasFlag(/^--force$/)(call)),
  },
  {
    key: "git checkout/restore discarding changes",
    program: "git",
    when: ({ operands, words }) =>
      (operands[0] === "checkout" || operands[0] === "restore") && words.some((word) => word === "." || word === "./"),
  },
  {
    key: "sudo with privilege flag (stdin/askpass/shell/list)",
    program: "sudo",
    when: ownFlag("sudo", /^-[a-z]*[sa]|^--(?:stdin|askpass|shell)$/i),
  },
]

/** Among the flags of the program itself, not of what it starts. */
function ownFlag(program: string, pattern: RegExp): (call: Invocation) => boolean {
  return ({ words }) => words.slice(0, endOfOptions(words, 0, program)).some((word) => pattern.test(word))
}

function subcommand(name: string, flag: RegExp): (call: Invocation) => boolean {
  return (call) => call.operands.includes(name) && hasFlag(flag)(call)
}
