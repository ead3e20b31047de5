import { PERSON, SYSTEM } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, optionValues, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { pathForms } from "../command-paths.ts"
import { pathClass } from "../path-classes.ts"
import type { ShellWord, SimpleCommand } from "../../shell/understood-command.ts"

/** The arguments of `kill` that name processes: `-1` is a signal only as the first of several arguments. */
function killedProcesses({ words }: Invocation): readonly string[] {
  const texts = words.map(({ text }) => text)
  const [first = ""] = texts
  if (texts.length === 1 && first === "-1") return texts
  if (/^-[ns]$|^--signal$/u.test(first)) return texts.slice(2).filter((text) => text !== "--")
  if (first === "--") return texts.slice(1)
  return (first.startsWith("-") ? texts.slice(1) : texts).filter((text) => text !== "--")
}

const isList = (call: Invocation): boolean => hasFlag(call, /^-(?:l|L|-list|-table)/u)
const KILL_SIGNAL = /^(?:9|(?:SIG)?KILL)$/iu
const hasKillFlag = ({ words }: Invocation): boolean =>
  words.some(({ text }) => text.startsWith("-") && KILL_SIGNAL.test(text.slice(1)))
const hasKillValue = ({ words }: Invocation): boolean =>
  words.some(({ text }, index) => {
    const value = /^(?:-s|--signal)$/u.test(text) ? words[index + 1]?.text : /^(?:-s|--signal=)(.+)$/u.exec(text)?.[1]
    return value !== undefined && KILL_SIGNAL.test(value)
  })
const HERMES_PROCESS = /hermes|gateway/iu
const firstWord = (call: Invocation, pattern: RegExp): boolean => pattern.test(call.operands[0]?.text ?? "")
const anyOperand = (call: Invocation, pattern: RegExp): boolean => call.operands.some(({ text }) => pattern.test(text))

export const PROCESS_RULES: readonly CommandRule[] = [
  {
    key: "kill all processes",
    level: "hardline",
    programs: ["kill"],
    when: (call) => !isList(call) && (killedProcesses(call).includes("-1") || killsEveryListed(call)),
    does: "kills every process of the user",
    effects: SYSTEM,
  },
  {
    key: "kill all processes",
    level: "hardline",
    programs: ["pkill", "killall", "skill"],
    when: (call) => call.operands.some(({ text }) => MATCHES_EVERY_NAME.test(text)) || isInverted(call),
    does: "kills every process of the user",
    effects: SYSTEM,
  },
  {
    key: "kill the process group of the shell",
    programs: ["kill"],
    when: (call) => !isList(call) && killedProcesses(call).includes("0") && call.words[0]?.text !== "-0",
    does: "kills the shell and everything that it started",
    effects: PERSON,
  },
  {
    key: "kill all processes",
    level: "hardline",
    programs: ["killall5"],
    when: () => true,
    does: "kills every process",
    effects: SYSTEM,
  },
  {
    key: "kill the first process (init)",
    level: "hardline",
    programs: ["kill"],
    when: (call) =>
      !isList(call) &&
      killedProcesses(call).includes("1") &&
      !/^-(?:0|HUP|SIGHUP|1)$/iu.test(call.words[0]?.text ?? ""),
    does: "kills the process that started the system",
    effects: SYSTEM,
  },
  {
    key: "system shutdown/reboot",
    level: "hardline",
    programs: ["shutdown", "reboot", "halt", "poweroff", "openrc-shutdown"],
    when: () => true,
    does: "stops or restarts the machine",
    effects: SYSTEM,
  },
  {
    key: "init/telinit 0|6",
    level: "hardline",
    programs: ["init", "telinit"],
    when: ({ words }) => words[0]?.text === "0" || words[0]?.text === "6",
    does: "stops or restarts the machine",
    effects: SYSTEM,
  },
  {
    key: "systemctl poweroff/reboot",
    level: "hardline",
    programs: ["systemctl", "loginctl"],
    when: (call) =>
      anyOperand(call, /^(?:poweroff|reboot|halt|kexec|soft-reboot|suspend-then-halt)$/iu) ||
      (anyOperand(call, /^(?:start|isolate|restart|reload-or-restart|set-default)$/iu) &&
        anyOperand(
          call,
          /^(?:(?:systemd-)?(?:poweroff|reboot|halt|kexec|soft-reboot)|ctrl-alt-del|runlevel[06]|shutdown)\.(?:target|service)$/iu,
        )),
    does: "stops or restarts the machine",
    effects: SYSTEM,
  },
  {
    key: "stop/restart system service",
    programs: ["systemctl"],
    when: (call) => firstOf(call, ["stop", "restart", "disable", "mask"]),
    does: "stops, restarts or disables a service",
    effects: SYSTEM,
  },
  {
    key: "stop/restart system service (other service managers)",
    programs: ["service", "rc-service", "launchctl", "initctl", "sv", "supervisorctl", "systemctl"],
    when: (call) =>
      call.program === "systemctl"
        ? firstOf(call, [
            "kill",
            "isolate",
            "emergency",
            "rescue",
            "try-restart",
            "reload-or-restart",
            "default",
            "set-default",
          ])
        : anyOperand(call, /^(?:stop|restart|unload|bootout|remove|kill|down|force-stop|disable)$/u),
    does: "stops, restarts or disables a service",
    effects: SYSTEM,
  },
  {
    key: "force kill processes",
    programs: ["pkill"],
    when: (call) => hasKillFlag(call) || hasKillValue(call),
    does: "kills processes by name without letting them finish",
    effects: SYSTEM,
  },
  {
    key: "force kill processes (killall -KILL)",
    programs: ["killall"],
    when: hasKillFlag,
    does: "kills processes by name without letting them finish",
    effects: SYSTEM,
  },
  {
    key: "force kill processes (killall -s KILL)",
    programs: ["killall"],
    when: hasKillValue,
    does: "kills processes by name without letting them finish",
    effects: SYSTEM,
  },
  {
    key: "kill processes by regex (killall -r)",
    programs: ["killall"],
    when: (call) => hasFlag(call, /^-[a-z]*r|^--regexp$/u),
    does: "kills every process whose name matches a pattern",
    effects: SYSTEM,
  },
  {
    key: "kill all processes of a user",
    programs: ["pkill", "killall", "skill", "slay"],
    when: (call) => hasFlag(call, /^-[a-z]*[uU]|^--(?:euid|uid|user)/u) || call.program === "slay",
    does: "kills every process of a user",
    effects: SYSTEM,
  },
  {
    key: "kill hermes/gateway process (self-termination)",
    programs: ["pkill", "killall"],
    when: (call) => anyOperand(call, HERMES_PROCESS) || call.operands.some(matchesHermes),
    does: "kills Hermes",
    effects: PERSON,
  },
  {
    key: "kill the process group of the shell",
    programs: ["pkill", "killall", "skill"],
    when: killsByRelation,
    does: "kills the processes of a terminal, a group or a parent process",
    effects: PERSON,
  },
  {
    key: "kill processes that a list names (self-termination)",
    programs: ["kill"],
    when: (call) => !isList(call) && (killsParents(call) || killsUsersOfAll(call) || killsSequence(call)),
    does: "kills its own parent processes, or processes that it does not choose",
    effects: PERSON,
  },
  {
    key: "kill process via pgrep expansion (self-termination)",
    programs: ["kill"],
    when: ({ words }) => words.some(({ text }) => /\$\(\s*pgrep\b/u.test(text)),
    does: "kills processes that pgrep finds",
    effects: SYSTEM,
  },
  {
    key: "kill process via backtick pgrep expansion (self-termination)",
    programs: ["kill"],
    when: ({ words }) => words.some(({ text }) => /`\s*pgrep\b/u.test(text)),
    does: "kills processes that pgrep finds",
    effects: SYSTEM,
  },
  {
    key: "kill processes that a list names (self-termination)",
    programs: ["kill"],
    when: ({ command, understood }) =>
      upstream(command, understood).some(
        ({ program, argv }) => program === "pgrep" && argv.some(({ text }) => HERMES_PROCESS.test(text)),
      ) || NAMES_HERMES_OR_ALL.test(command.argv.map(({ text }) => text).join(" ")),
    does: "kills processes that a list names",
    effects: SYSTEM,
  },
  {
    key: "kill hermes/gateway process (self-termination)",
    programs: ["kill", "pkill", "fuser", "killall", "skill"],
    when: (call) => !isList(call) && killsByFilesOfHermes(call),
    does: "kills processes that a file or list of Hermes names",
    effects: PERSON,
  },
  {
    key: "force kill processes",
    programs: ["skill", "snice"],
    when: (call) => hasKillFlag(call) || hasKillValue(call),
    does: "kills processes by name without letting them finish",
    effects: SYSTEM,
  },
  {
    key: "end every terminal session",
    programs: ["tmux", "screen", "zellij", "loginctl"],
    when: (call) =>
      call.program === "screen"
        ? anyOperand(call, /^quit$/u) && hasFlag(call, /^-[a-z]*X/u)
        : call.program === "loginctl"
          ? anyOperand(call, /^(?:terminate|kill)-(?:user|session|seat)$/u)
          : anyOperand(call, /^(?:kill-server|kill-all-sessions)$/u) ||
            (anyOperand(call, /^kill-(?:session|window|pane)$/u) && hasFlag(call, /^-[a-zA-Z]*a/u)),
    does: "ends terminals of the user and everything that runs in them",
    effects: SYSTEM,
  },
  {
    key: "kill every process that uses a file system",
    programs: ["fuser", "xkill"],
    when: (call) =>
      call.program === "xkill" ||
      (hasFlag(call, /^-[a-zA-Z]*k|^--kill/u) &&
        (hasFlag(call, /^-[a-z]*[mc]|^--mount/u) || !call.operands.every(isPort))),
    does: "kills processes",
    effects: SYSTEM,
  },
  {
    key: "suspend the machine or write to every terminal",
    programs: ["pm-suspend", "pm-hibernate", "rtcwake", "kexec", "wall", "systemctl", "loginctl", "zzz"],
    when: (call) =>
      call.program === "systemctl" || call.program === "loginctl"
        ? anyOperand(call, /^(?:suspend|hibernate|hybrid-sleep|suspend-then-hibernate|sleep|exit|switch-root)$/u)
        : call.program !== "wall" || call.operands.length > 0,
    does: "acts on the whole machine",
    effects: SYSTEM,
  },
]

/** `kill $(cat ~/.hermes/gateway.pid)`, `pkill -F …`, `fuser -k …/state.db`, and lists from which Hermes is chosen. */
function killsByFilesOfHermes(call: Invocation): boolean {
  const { command, understood } = call
  if (call.program === "fuser" && !hasFlag(call, /^-[a-z]*k|^--kill/u)) return false
  const fed = [command, ...upstream(command, understood)]
  const computed = call.words.some(isListComputed)
  const sources = computed ? [...fed, ...understood.commands.filter(suppliesValues)] : fed
  const files: readonly ShellWord[] = [
    ...(call.program === "fuser" ? call.operands : []),
    ...optionValues(call, "-F", "--pidfile"),
    ...sources.slice(1).flatMap(({ argv }) => argv.slice(1)),
    ...sources.flatMap(({ input }) => (input?.kind === "file" ? [input.path] : [])),
    ...sources.flatMap(({ redirections }) => redirections.map(({ target }) => target)),
  ]
  const ofHermes = files.some((word) =>
    pathForms(word, command.directory, call.facts).some((path) => pathClass(path, call.facts)?.startsWith("hermes")),
  )
  const chosen = sources.slice(1).some(({ argv }) => argv.slice(1).some(namesHermes))
  return ofHermes || chosen
}
/** `8080/tcp`, and the parts of `-n tcp 8080`. */
const isPort = ({ text }: ShellWord): boolean => /^(?:\d+(?:\/(?:tcp|udp))?|tcp|udp)$/u.test(text)

/** `pkill -v name`: everything but that. */
const isInverted = (call: Invocation): boolean =>
  call.program === "pkill" && hasFlag(call, /^-v$|^--inverse$|^-[xfilan]*v[xfilan]*$/u)

/** A pattern such as `[h]ermes` or `her.es`. */
function matchesHermes({ known, text }: ShellWord): boolean {
  if (!known || !/[.[\]*+?(|\\]/u.test(text) || text.length > MAX_PATTERN) return false
  try {
    const pattern = new RegExp(text, "iu")
    return ["hermes", "hermes.js", "gateway"].some((name) => pattern.test(name))
  } catch (cause) {
    if (cause instanceof SyntaxError) return false
    throw cause
  }
}
const MAX_PATTERN = 40

/** By terminal, and by a parent, group or session that is the one of the shell or of the system. */
function killsByRelation(call: Invocation): boolean {
  if (call.program === "killall") return hasFlag(call, /^-[a-zA-Z]*g|^--process-group$/u)
  if (optionValues(call, "-t", "--terminal").length > 0) return true
  return optionValues(call, "-P", "--parent", "-g", "--pgroup", "-s", "--session").some(
    ({ known, text }) => /^[01]$|PPID/u.test(text) || (!known && /ppid|pgid|sid/iu.test(text)),
  )
}

/** What the shell computes, other than the process that it started itself: `node server.js & PID=$!; …; kill $PID`. */
const isListComputed = ({ known, text }: ShellWord): boolean => !known && !OWN_PROCESSES.test(text)
const OWN_PROCESSES = /^(?:[-%]?(?:\$!|\$\{!\}|\d+)\s*)+$/u

/** What the processes to kill come from: words that the shell computes, and the commands that are piped to it. */
function sourcesOf({ command, understood, words }: Invocation): readonly SimpleCommand[] {
  const computed = words.some(isListComputed)
  return [
    ...upstream(command, understood),
    ...(computed ? understood.commands.filter(({ source }) => source === "substitution") : []),
  ]
}

const PARENT = /\bppid\b|\bpgid\b|\/proc\/(?:self|\$\$|\$\{?\w+\}?|\d+)\/stat/iu

function killsParents(call: Invocation): boolean {
  return (
    call.words.some(({ text }) => PARENT.test(text)) ||
    sourcesOf(call).some(({ argv }) => argv.some(({ text }) => PARENT.test(text)))
  )
}

/** `kill $(lsof -t .)`, `lsof -t -i | xargs kill`: everything that uses a directory or the network. */
function killsUsersOfAll(call: Invocation): boolean {
  return sourcesOf(call).some(({ program, argv }) => {
    if (program !== "lsof" && program !== "fuser") return false
    const texts = argv.slice(1).map(({ text }) => text)
    if (texts.some((text) => /:\d|^-[a-z]*[pc]\w*$/u.test(text))) return false
    return (
      texts.some((text) => /^(?:\/|~|\.{1,2}|\$\w+)\/?$|^-[a-z]*i(?:tcp|udp|[46])?$|^\+[dD]/iu.test(text)) ||
      texts.length < 2
    )
  })
}

/** `kill $(seq 2 99999)`. */
function killsSequence(call: Invocation): boolean {
  return sourcesOf(call).some(({ program }) => program === "seq" || program === "jot" || program === "shuf")
}

const suppliesValues = ({ source, program }: SimpleCommand): boolean =>
  source === "substitution" || program === "read" || program === "mapfile" || program === "readarray"
/** `grep '[h]ermes'` and `awk '/hermes/ {…}'`, but not a path with that name in it. */
const namesHermes = ({ text }: ShellWord): boolean =>
  /h\]?ermes/iu.test(text) && (!text.includes("/") || /^\/[^/]*\/\s*\{/u.test(text))

/** `$(ps …)` without a filter behind it, the parent of the shell, and the processes of Hermes. */
const NAMES_HERMES_OR_ALL = /(?:\$\(|`)\s*ps\b[^|)`]*[)`]|\$\{?PPID\b|(?:\$\(|`)\s*pidof\s+hermes/u

/** Patterns that match any name: `.`, `.*`, `^`, `[a-z]`, and the empty one. */
const MATCHES_EVERY_NAME = /^\^?(?:\.[*+]?|\[[^\]]*[a-z]-?z?[^\]]*\][*+]?|\(?\.\*\)?)?\$?$/u

/** Lists of all processes without a filter: `$(ps -e …)`, `ps … | xargs kill`, `/proc/[0-9]*`, `{2..99999}`. */
function killsEveryListed(call: Invocation): boolean {
  const texts = call.words.map(({ text }) => text)
  if (texts.some((text) => EVERY_PROCESS.test(text))) return true
  const substituted = call.words.some(
    ({ known, text }) => !known && /(?:\$\(|`)\s*(?:ps|pgrep|ls|find|echo)\b/u.test(text),
  )
  const inLoop = call.words.some(({ known, text }) => !known && /^\$\{?\w+\}?$/u.test(text))
  if (
    (substituted || inLoop) &&
    listsEveryProcess(call.understood.commands.filter(({ source }) => source === "substitution"))
  )
    return true
  const numbers = new Set(texts.filter((text) => /^\d{1,7}$/u.test(text)))
  if (numbers.size > MOST_NAMED_PROCESSES) return true
  const isFed =
    call.command.wrappers.some(({ program }) => /^(?:xargs|parallel)$/u.test(program)) || /\$/u.test(texts.join(" "))
  return isFed && listsEveryProcess(upstream(call.command, call.understood))
}

/** A list that long is not typed by hand; a range such as `{2..65535}` gives them. */
const MOST_NAMED_PROCESSES = 500
const EVERY_PROCESS = /\/proc\/(?:\[0-9\]|\[\[:digit:\]\]|\?|\*)|\{[0-9]{1,7}\.\.[0-9]{4,}\}/u
const CHOOSES = new Set("grep egrep fgrep rg head tail pgrep pidof fzf sed perl".split(" "))

/** `grep '^[0-9]'` only tells numbers from other names. */
function isChoosing({ program, argv }: SimpleCommand): boolean {
  if (!CHOOSES.has(program ?? "")) return false
  const texts = argv.slice(1).map(({ text }) => text)
  if (program === "tail") return !texts.some((text) => /^\+\d|^-n\+/u.test(text))
  if (program === "sed") return !texts.some((text) => /^1d$/u.test(text))
  if (!/^[ef]?grep$/u.test(program ?? "")) return true
  if (texts.some((text) => /^-[a-zA-Z]*v|^--invert-match$/u.test(text))) return false
  return !texts.filter((text) => !text.startsWith("-")).every((text) => ANY_NUMBER.test(text))
}

const ANY_NUMBER = /^\^?(?:\[0-9\]|\[\[:digit:\]\]|\\d)[*+]?\$?$/u

function listsEveryProcess(commands: readonly SimpleCommand[]): boolean {
  if (commands.length === 0 || commands.some(isChoosing)) return isPgrepOfAll(commands)
  return commands.some(({ program, argv }) => {
    const texts = argv.slice(1).map(({ text }) => text)
    if (program === "ps")
      return /^-?[a-zA-Z]*[aAexXuU]|^--[uU]ser/u.test(texts[0] ?? "") && !isNarrowed(texts, commands)
    if (program === "top" || program === "htop" || program === "pstree") return !isNarrowed(texts, commands)
    return (
      (program === "ls" || program === "find" || program === "echo") &&
      texts.some((text) => /^\/proc(?:\/(?:\[0-9\]\*|\*)?)?$/u.test(text))
    )
  })
}

/** `ps -C name`, `ps -p 12` and `awk '/name/'` choose among the processes. */
function isNarrowed(texts: readonly string[], commands: readonly SimpleCommand[]): boolean {
  return (
    texts.some((text) => /^-(?:C|p|q|t|g|s)$|^--(?:pid|ppid|quick-pid|tty)/u.test(text)) ||
    commands.some(
      ({ program, argv }) => program?.endsWith("awk") === true && argv.some(({ text }) => /\/[^/]+\/|==|~/u.test(text)),
    )
  )
}

function isPgrepOfAll(commands: readonly SimpleCommand[]): boolean {
  return commands.some(
    ({ program, argv }) =>
      program === "pgrep" &&
      (argv.slice(1).some(({ text }) => /^-[a-z]*v$|^--inverse$/u.test(text)) ||
        argv.slice(1).some(({ text }) => !text.startsWith("-") && MATCHES_EVERY_NAME.test(text)) ||
        isPgrepOfUser(argv.slice(1).map(({ text }) => text))),
  )
}

/** `pgrep -u alice` without a pattern. */
function isPgrepOfUser(texts: readonly string[]): boolean {
  const at = texts.findIndex((text) => /^-[a-z]*[uU]$|^--(?:e?uid)$/u.test(text))
  return at !== -1 && texts.every((text, index) => text.startsWith("-") || index === at + 1)
}

function firstOf(call: Invocation, actions: readonly string[]): boolean {
  return (
    call.operands.some(({ text }, index) => index < 3 && actions.includes(text.toLowerCase())) &&
    !firstWord(call, /^(?:status|show|cat|is-\w+|list-\w+)$/u)
  )
}
