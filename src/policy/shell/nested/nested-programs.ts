import type { Call, Interpreter } from "../interpreter.ts"
import { runCode } from "./nested-code.ts"
import { runGit } from "./nested-git.ts"
import { runFind, UNKNOWN_WORDS } from "./nested-arguments.ts"
import { runContainer, runRemoteText, runSecureShell } from "./nested-remote.ts"
import { knownWord } from "../scope.ts"
import { readSedProgram, sedArguments } from "../sed-program.ts"
import { joinWords, optionValue, runInside, runInsideText } from "./unwrap.ts"

/** Commands in the arguments of one program. */
const MOST_TEXTS = 16

type Nested = (call: Call, interpreter: Interpreter) => void

/** Options whose value is a command that a shell runs. */
const TEXT_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "su runuser": ["-c", "--command", "--session-command"],
  sg: ["-c"],
  script: ["-c", "--command"],
  rg: ["--pre", "--hostname-bin"],
  tar: ["--to-command", "-I", "--use-compress-program", "--rsh-command", "-F", "--info-script", "--new-volume-script"],
  bsdtar: ["--use-compress-program"],
  zip: ["-TT", "--unzip-command"],
  rsync: ["-e", "--rsh", "--rsync-path"],
  "scp sftp": ["-S", "-D"],
  man: ["-P", "--pager"],
  sort: ["--compress-program"],
  split: ["--filter"],
  tcpdump: ["-z"],
  "nix-shell": ["--run", "--command"],
  nodemon: ["--exec", "-x"],
  "cargo-watch": ["-s", "--shell"],
  "nc ncat netcat": ["-c", "--sh-exec", "-e", "--exec"],
  "xterm urxvt konsole terminator lxterminal st": ["-e"],
  "wslhost wsl": ["-e", "--exec"],
  entr: ["-s"],
  "gpg gpg2": ["--photo-viewer", "--keyserver-options"],
  smbclient: ["-c"],
  journalctl: ["--pager"],
  lldb: ["-o"],
}

/** Options after which the command follows in words. */
const WORD_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "fd fdfind": ["-x", "-X", "--exec", "--exec-batch"],
  gdb: ["--args"],
  nix: ["-c", "--command"],
  "gnome-terminal xfce4-terminal alacritty kitty wezterm xterm": ["--", "-e", "-x"],
  "start-stop-daemon": ["--exec", "-x", "--startas", "-a"],
}

/** Words in an argument after which a command follows. */
const TEXT_ARGUMENTS: Readonly<Record<string, RegExp>> = {
  tar: /^--checkpoint-action=exec=([^]+)$/u,
  "make gmake": /^SHELL=([^]+)$|\$\(shell\s([^)]{1,2000})\)/u,
  "vim vi nvim ex view gvim vimdiff": /^[+:]*(?:silent!?\s*)?:?!([^]+)$/u,
  gdb: /^(?:shell|!)\s*([^]+)$/u,
  sqlite3: /^\.(?:shell|system)\s+([^]+)$/u,
  psql: /\\!\s*([^]+)$/u,
  "mysql mariadb": /(?:\\!|^system)\s*([^]+)$/u,
  socat: /(?:^|[,!])(?:EXEC|SYSTEM):([^]+)$/iu,
  "apt apt-get aptitude": /Invoke(?:-Success)?(?:::)?=([^]+)$/u,
  osascript: /do shell script "([^"]+)"/u,
  "ssh scp sftp": /^(?:-o)?\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[=\s]([^]+)$/iu,
}

const SPECIAL: Readonly<Record<string, Nested>> = {
  find: runFind,
  ssh: runSecureShell,
  "docker podman nerdctl docker-compose podman-compose kubectl oc k3s lxc incus machinectl adb heroku": runContainer,
  "vagrant gcloud flyctl fly": runRemoteText,
  git: runGit,
  "awk gawk mawk nawk python python2 python3 perl ruby node nodejs deno bun php lua luajit tclsh expect osascript Rscript irb emacs":
    runCode,
  "at batch": runInput,
  crontab: runCrontab,
  tmux: runTerminalMultiplexer,
  "concurrently npm-run-all": runEachArgument,
  "su runuser": runUserSwitch,
  "sudo sudo-rs doas chroot unshare nsenter newgrp sg script setpriv bwrap firejail proot": runInput,
  "make gmake": runMakefile,
  "sed gsed": runSed,
}

export const NESTED_PROGRAMS: ReadonlyMap<string, Nested> = combine()

function combine(): ReadonlyMap<string, Nested> {
  const table = new Map<string, Nested[]>()
  const add = <T>(rows: Readonly<Record<string, T>>, nested: (name: string, row: T) => Nested): void => {
    for (const [names, row] of Object.entries(rows)) {
      for (const name of names.split(" ")) table.set(name, [...(table.get(name) ?? []), nested(name, row)])
    }
  }
  add(TEXT_OPTIONS, (name, options) => (call, interpreter) => {
    const found = optionValue(call.argv, options)
    if (found !== undefined) runInsideText(call, { name, at: found.at, text: found.word }, interpreter)
  })
  add(WORD_OPTIONS, (name, options) => (call, interpreter) => {
    const at = call.argv.findIndex(({ text }) => options.includes(text))
    if (at === -1 || at + 1 >= call.argv.length) return
    // fd adds the files that it finds.
    const argv = name.startsWith("fd") ? [...call.argv, UNKNOWN_WORDS] : call.argv
    runInside({ ...call, argv }, { name, at: at + 1 }, interpreter)
  })
  add(TEXT_ARGUMENTS, (name, pattern) => (call, interpreter) => {
    let count = 0
    for (const [at, word] of call.argv.entries()) {
      const match = at === 0 ? null : pattern.exec(word.text)
      const text = match?.[1] ?? match?.[2]
      if (text === undefined) continue
      count += 1
      if (count > MOST_TEXTS) {
        interpreter.doubt("length", name, "it starts too many commands")
        return
      }
      runInsideText(call, { name, at, text: { ...word, text } }, interpreter)
    }
  })
  add(SPECIAL, (_name, nested) => nested)
  return new Map(
    [...table].map(([name, all]) => [name, (call, interpreter) => all.forEach((one) => one(call, interpreter))]),
  )
}

/** Programs that run what they read. */
function runInput(call: Call, interpreter: Interpreter): void {
  const { input } = call.frame
  if (call.argv.some(({ text }) => /^-[A-Za-z]*[flcevk]/u.test(text))) return
  if (input.text !== undefined) {
    runInsideText(
      call,
      { name: call.argv[0]?.text ?? "", at: call.argv.length, text: knownWord(input.text) },
      interpreter,
    )
  } else if (input.from !== undefined) {
    interpreter.doubt("script", call.argv[0]?.text ?? "", "it runs what another command prints")
  }
}

/** A makefile that make reads from its input: lines that begin with a tab are commands. */
function runMakefile(call: Call, interpreter: Interpreter): void {
  const file = optionValue(call.argv, ["-f", "--file", "--makefile"])?.word
  const given = file !== undefined && /^(?:-|\/dev\/stdin)$/u.test(file.text) ? call.frame.input.text : undefined
  const evaluated = optionValue(call.argv, ["--eval", "-E"])?.word.text
  for (const line of [given, evaluated].flatMap((text) => text?.split("\n") ?? [])) {
    const command = /^\t[@+-]*([^]+)$/u.exec(line)?.[1]
    if (command !== undefined)
      runInsideText(call, { name: "make", at: call.argv.length, text: knownWord(command) }, interpreter)
  }
}

/** Sed runs the rest of a line behind `e`, and the result of a substitution with the flag `e`. */
function runSed(call: Call, interpreter: Interpreter): void {
  const { script } = sedArguments(call.argv.slice(1))
  if (script?.text.includes("e") !== true) return
  for (const text of readSedProgram(script).executes.slice(0, MOST_TEXTS)) {
    if (text !== undefined)
      runInsideText(call, { name: "sed", at: call.argv.length, text: { ...script, text } }, interpreter)
  }
}

const CRONTAB_LINE = /^\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+(\S[^]*)$/u

function runCrontab(call: Call, interpreter: Interpreter): void {
  const { input } = call.frame
  const lines = input.text?.split("\n") ?? []
  for (const line of lines) {
    const command = line.trim().startsWith("#") ? undefined : CRONTAB_LINE.exec(line)?.[1]
    if (command !== undefined)
      runInsideText(call, { name: "crontab", at: call.argv.length, text: knownWord(command) }, interpreter)
  }
}

const MULTIPLEXER_COMMANDS = new Set(
  "new new-session neww new-window splitw split-window respawn-pane respawnp run run-shell if if-shell popup display-popup pipe-pane send send-keys".split(
    " ",
  ),
)
const MULTIPLEXER_OPTIONS_WITH_VALUE = /^-[A-Za-z]*[tsncFxyeSlbBhwT]$/u

/** `tmux new-session -d 'command'` and `tmux send-keys 'command' Enter`. */
function runTerminalMultiplexer(call: Call, interpreter: Interpreter): void {
  const start = call.argv.findIndex(({ text }, at) => at > 0 && MULTIPLEXER_COMMANDS.has(text))
  if (start === -1) return
  const isKeys = call.argv[start]?.text.startsWith("send") === true
  let at = start + 1
  while (call.argv[at]?.text.startsWith("-") === true) {
    at +=
      !isKeys && call.argv[at]?.text === "-d"
        ? 1
        : MULTIPLEXER_OPTIONS_WITH_VALUE.test(call.argv[at]?.text ?? "")
          ? 2
          : 1
  }
  const words = call.argv.slice(at).filter(({ text }) => !isKeys || !/^(?:Enter|C-[mj]|KPEnter)$/iu.test(text))
  if (words.length > 0) runInsideText(call, { name: "tmux", at, text: joinWords(words) }, interpreter)
}

function runEachArgument(call: Call, interpreter: Interpreter): void {
  for (const [at, word] of call.argv.entries()) {
    if (at > 0 && at <= MOST_TEXTS && !word.text.startsWith("-"))
      runInsideText(call, { name: "concurrently", at, text: word }, interpreter)
  }
}

/** `runuser -u user -- command`; without a command it is a shell that reads its input. */
function runUserSwitch(call: Call, interpreter: Interpreter): void {
  const at = call.argv.findIndex(({ text }) => text === "--")
  if (at !== -1 && at + 1 < call.argv.length)
    runInside(call, { name: call.argv[0]?.text ?? "", at: at + 1 }, interpreter)
  else if (optionValue(call.argv, ["-c", "--command", "--session-command"]) === undefined) runInput(call, interpreter)
}
