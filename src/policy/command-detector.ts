import { stripAnsi } from "../base/strip-ansi.ts"
import { endOfOptions, simpleCommands } from "./command-words.ts"
import type { SimpleCommand } from "./command-words.ts"
import { isSystemDirectory, isUserHome, isWholeDisk } from "./delete-target.ts"

/** A dangerous effect of a command. `hardline` commands are never run; for the others Hermes asks the user. */
export interface CommandFinding {
  readonly level: "hardline" | "ask"
  /** Identifies the rule, for example when the user allows it for the session. */
  readonly key: string
}

/**
 * Scans the text of a command, including quoted parts. A false positive costs only a question to the user. Each rule runs in linear time.
 */
export function detectCommand(command: string, userHome?: string): CommandFinding | undefined {
  // No system can start a longer command, so scanning it would only take time.
  if (command.length > MAX_SCANNED_CHARS) return { level: "ask", key: "command too long to judge" }
  const text = foldHome(normalise(command), userHome)
  const commands = simpleCommands(text)
  const hardline = HARDLINE.find((rule) => applies(rule, text, commands))
  if (hardline !== undefined) return { level: "hardline", key: hardline.key }
  const risky = RISKY.find((rule) => applies(rule, text, commands))
  return risky === undefined ? undefined : { level: "ask", key: risky.key }
}

const MAX_SCANNED_CHARS = 256 * 1024

/** Removes escapes and empty quotes, which hide a word from a pattern but not from the shell. */
function normalise(command: string): string {
  return stripAnsi(command)
    .replaceAll("\0", "")
    .normalize("NFKC")
    .replaceAll(/\\\n/g, " ")
    .replaceAll(/\\(.)/gs, "$1")
    .replaceAll(/''|""/g, "")
}

/** Replaces the absolute path of the home directory with `~`. */
function foldHome(text: string, userHome: string | undefined): string {
  if (userHome === undefined || userHome.length < 2) return text
  return text
    .split(userHome)
    .reduce((before, after) => `${before}${/^(?:[\s/"';&|)`*]|$)/.test(after) ? "~" : userHome}${after}`)
}

type Rule = { readonly key: string } & (
  | { readonly text: RegExp }
  /** Each pattern matches somewhere after the previous one. */
  | { readonly inOrder: readonly RegExp[] }
  /** Matches the program that is run, after wrappers such as sudo. */
  | { readonly runs: RegExp }
  /** Matches a program anywhere in a simple command, because an unknown wrapper may precede it. */
  | { readonly program: string | readonly string[]; readonly when: (call: Invocation) => boolean }
)

/** The words after a program name in a simple command. */
interface Invocation {
  readonly words: readonly string[]
  readonly flags: readonly string[]
  readonly operands: readonly string[]
  /** The target of an earlier `cd`. */
  readonly directory: string | undefined
}

function applies(rule: Rule, text: string, commands: readonly SimpleCommand[]): boolean {
  if ("text" in rule) return rule.text.test(text)
  if ("inOrder" in rule) return foundInOrder(text, rule.inOrder)
  if ("runs" in rule) return commands.some(({ programs, programIndex }) => rule.runs.test(programs[programIndex] ?? ""))
  const names = typeof rule.program === "string" ? [rule.program] : rule.program
  return commands.some((command) => {
    const index = command.programs.findIndex((program) => names.includes(program))
    return index !== -1 && rule.when(invocation(command, index + 1))
  })
}

function foundInOrder(text: string, patterns: readonly RegExp[]): boolean {
  let remaining = text
  return patterns.every((pattern) => {
    const found = pattern.exec(remaining)
    if (found === null) return false
    remaining = remaining.slice(found.index + found[0].length)
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
/** `rm dir/*` empties a directory even without a recursive flag. */
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
        (word, index) =>
          /^-(?:9|(?:SIG)?KILL)$/i.test(word) ||
          (word === "-s" && /^(?:9|(?:SIG)?KILL)$/i.test(words[index + 1] ?? "")),
      ),
  },
  { key: "kill processes by regex (killall -r)", program: "killall", when: hasFlag(/^-\w*r/) },
  {
    // SIGHUP for one process is easily confused with a signal to all processes.
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
      words.some((word, index) => /^-(?:exec|execdir|ok)$/.test(word) && /^(?:.*\/)?rm$/i.test(words[index + 1] ?? "")),
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

/** Matches only the flags of the program itself, not of the command it starts. */
function ownFlag(program: string, pattern: RegExp): (call: Invocation) => boolean {
  return ({ words }) => words.slice(0, endOfOptions(words, 0, program)).some((word) => pattern.test(word))
}

function subcommand(name: string, flag: RegExp): (call: Invocation) => boolean {
  return (call) => call.operands.includes(name) && hasFlag(flag)(call)
}
